import Foundation

/// A file that a command reads.
enum InputFile {
    /// - Parameters:
    ///   - path: The file; `-` = standard input.
    ///   - option: The option that names the file, for the error; empty for an argument.
    ///   - standardInput: The file read for `-`.
    /// - Returns: The open file.
    /// - Throws: ``CommandFailure`` with the reason.
    static func open(_ path: String, option: String = "", standardInput: FileHandle = .standardInput) throws
        -> FileHandle
    {
        guard path != "-" else { return standardInput }
        let name = option.isEmpty ? path : "\(option): \(path)"
        let descriptor = unsafe Foundation.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandFailure.failed("\(name) cannot be read: \(unsafe String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        if FileManager.default.isFolder(path) {
            throw CommandFailure.failed("\(name) cannot be read: it is a folder")
        }
        return file
    }
}

extension FileManager {
    /// Whether there is a folder at a path.
    func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return unsafe self.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }
}
