/// A configuration error, in one line that names the key and its source.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    package let message: String

    package init(_ message: String) { self.message = message }

    package var description: String { self.message }
}
