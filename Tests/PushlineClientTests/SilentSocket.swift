import Foundation

/// A bound TCP socket on 127.0.0.1 that takes connections, or not, and never says a word.
final class SilentSocket: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init(listens: Bool) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = self.descriptor
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound, !listens || listen(descriptor, 8) == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        self.port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(self.descriptor) }
}
