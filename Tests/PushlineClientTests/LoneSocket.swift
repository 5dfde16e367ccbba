import Foundation

/// A TCP socket on 127.0.0.1 that serves one connection: with a fixed text, or without a word.
final class LoneSocket: Sendable {
    /// What it does with a connection.
    enum Manner: Sendable {
        /// It is bound, and nobody listens.
        case refuses
        /// It takes connections and never says a word.
        case isSilent
        /// It takes one connection, reads what comes first, writes this and closes.
        case answers(String)
    }

    let port: UInt16
    private let descriptor: Int32

    init(_ manner: Manner) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        self.port = UInt16(bigEndian: address.sin_port)
        guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
        if case .refuses = manner { return }
        guard listen(descriptor, 8) == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        if case .answers(let text) = manner {
            Thread.detachNewThread { Self.serve(descriptor, text) }
        }
    }

    deinit { close(self.descriptor) }

    var url: URL? { URL(string: "http://127.0.0.1:\(self.port)") }

    private static func serve(_ descriptor: Int32, _ text: String) {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return }
        let handle = FileHandle(fileDescriptor: connection, closeOnDealloc: true)
        _ = handle.availableData
        handle.write(Data(text.utf8))
    }
}
