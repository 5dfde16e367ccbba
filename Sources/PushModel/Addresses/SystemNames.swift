#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Names of hosts, as the system knows them.
package enum SystemNames {
    /// The name that this host has for itself.
    package static var host: String {
        var text = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&text, text.count - 1) == 0 else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The addresses of a name, in digits; empty where there is none.
    ///
    /// The thread waits as long as the system does, which nothing can end.
    @Sendable package static func addresses(of name: String) -> [String] {
        var hints = unsafe addrinfo()
        #if canImport(Glibc)
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(name, nil, &hints, &list) == 0, let first = unsafe list else { return [] }
        defer { unsafe freeaddrinfo(first) }
        var found: [String] = []
        var next: UnsafeMutablePointer<addrinfo>? = unsafe first
        while let entry = unsafe next {
            var text = [CChar](repeating: 0, count: 64)
            let length = socklen_t(text.count)
            let (address, size) = unsafe (entry.pointee.ai_addr, entry.pointee.ai_addrlen)
            if unsafe getnameinfo(address, size, &text, length, nil, 0, NI_NUMERICHOST) == 0 {
                found.append(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
            }
            unsafe next = entry.pointee.ai_next
        }
        return found
    }
}
