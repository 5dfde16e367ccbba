import Foundation
import NIOConcurrencyHelpers
import StoreContract

/// Stands before a server, and ends connections at the byte that it is told to.
final class CuttingProxy: Sendable {
    /// How far a connection gets; nil = as far as it goes.
    struct Fate: Sendable {
        /// The bytes that the server gets.
        var sent: Int?
        /// The bytes that the client gets.
        var answered: Int?

        static let whole = Fate()
    }

    private struct State {
        var isOpen = true
        var isDeaf = false
        var cutsAnswers = false
        var hasEnded = false
        /// How often clients were left.
        var leaves = 0
        var cuts = 0
        var fate: @Sendable () -> Fate = { .whole }
        var answer: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    }

    let port: Int
    private let server: Int
    private let listener: Listener
    private let state = NIOLockedValueBox(State())

    /// Takes connections for a port of the loopback.
    init(before server: Int) throws {
        self.server = server
        self.listener = try Listener()
        self.port = self.listener.port
        Thread.detachNewThread { self.serve() }
    }

    /// Its threads end by and by; without that they would go on as long as the process.
    func end() { self.state.withLockedValue { $0.hasEnded = true } }

    /// How many connections were ended.
    var cuts: Int { self.state.withLockedValue { $0.cuts } }

    /// What becomes of each connection from now on.
    func cut(_ fate: @escaping @Sendable () -> Fate) { self.state.withLockedValue { $0.fate = fate } }

    /// What becomes of each part of the server's answers from now on.
    func alter(_ answer: @escaping @Sendable ([UInt8]) -> [UInt8]) { self.state.withLockedValue { $0.answer = answer } }

    /// Whether new connections are taken.
    func open(_ isOpen: Bool) { self.state.withLockedValue { $0.isOpen = isOpen } }

    /// From now on the server's answers are kept back.
    func deafen(_ isDeaf: Bool) { self.state.withLockedValue { $0.isDeaf = isDeaf } }

    /// From now on a connection ends at the server's next answer.
    func cutAnswers(_ cuts: Bool) { self.state.withLockedValue { $0.cutsAnswers = cuts } }

    /// Ends the connections that there are for their clients alone: the server goes on with what it was sent, and hears of nothing.
    func leaveClients() { self.state.withLockedValue { $0.leaves += 1 } }

    private var leaves: Int { self.state.withLockedValue { $0.leaves } }

    private var hasEnded: Bool { self.state.withLockedValue { $0.hasEnded } }

    private func serve() {
        while !self.hasEnded {
            guard let client = self.listener.next(within: 100) else { continue }
            let (isOpen, fate) = self.state.withLockedValue { ($0.isOpen, $0.fate()) }
            guard isOpen, let server = Socket.connected(to: self.server) else { continue }
            Thread.detachNewThread { self.pass(client, server, fate) }
        }
    }

    private func pass(_ client: Socket, _ server: Socket, _ fate: Fate) {
        var left = fate
        let leaves = self.leaves
        while !self.hasEnded {
            guard self.leaves == leaves else { return self.keep(server, without: client) }
            let (isDeaf, cutsAnswers) = self.state.withLockedValue { ($0.isDeaf, $0.cutsAnswers) }
            if cutsAnswers { left.answered = 0 }
            let ready = Socket.wait(for: client, isDeaf ? nil : server, milliseconds: 100)
            if ready.first, !self.forward(from: client, to: server, &left.sent) { return }
            let answer = self.state.withLockedValue { $0.answer }
            if ready.second, !self.forward(from: server, to: client, &left.answered, as: answer) { return }
        }
    }

    private func keep(_ server: Socket, without client: Socket) {
        shutdown(client.descriptor, Int32(SHUT_RDWR))
        withExtendedLifetime(server) {
            while !self.hasEnded { Thread.sleep(forTimeInterval: 0.05) }
        }
    }

    /// - Returns: false where the connection is over.
    private func forward(
        from source: Socket,
        to target: Socket,
        _ left: inout Int?,
        as answer: (([UInt8]) -> [UInt8])? = nil
    ) -> Bool {
        guard let read = source.read() else { return false }
        let bytes = answer?(read) ?? read
        guard let limit = left, bytes.count >= limit else {
            left = left.map { $0 - bytes.count }
            return target.write(bytes)
        }
        _ = target.write(Array(bytes.prefix(limit)))
        self.state.withLockedValue { $0.cuts += 1 }
        return false
    }
}

/// A socket that is closed with its last holder.
final class Socket: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(self.descriptor) }

    static func connected(to port: Int) -> Socket? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let made = Socket(descriptor)
        let status = unsafe self.withAddress(of: port) { unsafe connect(descriptor, $0, $1) }
        made.sendAtOnce()
        return status == 0 ? made : nil
    }

    func sendAtOnce() {
        var isOn: Int32 = 1
        _ = unsafe setsockopt(
            self.descriptor,
            Int32(IPPROTO_TCP),
            TCP_NODELAY,
            &isOn,
            socklen_t(MemoryLayout<Int32>.size)
        )
    }

    /// - Returns: nil where nothing comes any more.
    func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = unsafe recv(self.descriptor, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }

    func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe send(self.descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Waits until something can be read.
    static func wait(for first: Socket, _ second: Socket?, milliseconds: Int32) -> (first: Bool, second: Bool) {
        var sockets = [first, second].map { pollfd(fd: $0?.descriptor ?? -1, events: Int16(POLLIN), revents: 0) }
        guard unsafe poll(&sockets, 2, milliseconds) > 0 else { return (false, false) }
        return (sockets[0].revents != 0, sockets[1].revents != 0)
    }

    /// An address of the loopback.
    fileprivate static func withAddress<Value>(
        of port: Int,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value
    ) -> Value {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, size) }
        }
    }
}

/// A port of the loopback that the system chooses.
final class Listener: Sendable {
    let port: Int
    private let listening: Socket

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listening = Socket(descriptor)
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe Socket.withAddress(of: 0) { unsafe bind(descriptor, $0, $1) == 0 }
        let isKnown = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe listen(descriptor, 64) == 0 && getsockname(descriptor, address, &size) == 0
            }
        }
        guard isBound, isKnown else { throw Unexpected("there is no port to listen at") }
        self.port = Int(UInt16(bigEndian: address.sin_port))
    }

    func next(within milliseconds: Int32) -> Socket? {
        guard Socket.wait(for: self.listening, nil, milliseconds: milliseconds).first else { return nil }
        let descriptor = accept(self.listening.descriptor, nil, nil)
        guard descriptor >= 0 else { return nil }
        let client = Socket(descriptor)
        client.sendAtOnce()
        return client
    }
}
