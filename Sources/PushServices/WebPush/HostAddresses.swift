import NIOPosix
import PushModel

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Looks up the addresses of hosts that devices chose, and refuses those that are not on the internet.
struct HostAddresses: Sendable {
    /// Why there is no address to connect to.
    enum Fault: Error, Equatable {
        /// The name has no address, or the lookup failed.
        case unknown
        /// All of its addresses are private ones, which the app does not declare.
        case notPublic
    }

    /// Networks that are no part of the internet and allowed all the same.
    let declared: [IPNetwork]
    /// The addresses of a name, in the order of preference.
    let resolve: @Sendable (String) async -> [String]

    init(declared: [IPNetwork], resolve: @escaping @Sendable (String) async -> [String] = Self.system) {
        self.declared = declared
        self.resolve = resolve
    }

    /// The addresses of a host that may be connected to.
    ///
    /// - Parameter host: A name or an address.
    /// - Returns: At least one.
    /// - Throws: ``Fault``.
    func allowed(of host: String) async throws(Fault) -> [String] {
        let found = await IPAddress(host) == nil ? self.resolve(host) : [host]
        guard !found.isEmpty else { throw .unknown }
        let allowed = found.filter { text in
            guard let address = IPAddress(text) else { return false }
            return address.isPublic || self.declared.contains { $0.contains(address) }
        }
        guard !allowed.isEmpty else { throw .notPublic }
        return allowed
    }

    /// As the system resolves names, on a thread that may wait.
    @Sendable static func system(_ host: String) async -> [String] {
        // The pool is never shut down.
        (try? await NIOThreadPool.singleton.runIfActive { Self.lookUp(host) }) ?? []
    }

    private static func lookUp(_ host: String) -> [String] {
        var hints = unsafe addrinfo()
        #if canImport(Glibc)
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &list) == 0, let first = unsafe list else { return [] }
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
