/// An error in a file of apps, in one line that names the file, the line and the key.
struct AppsFileError: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
