import Foundation
import Logging
import NIOCore

/// The connections in the system's accept queue of a port.
///
/// When a port is closed, the system resets them, and their clients lose a request. So before the close a filter drops
/// new connections, and the process accepts those in the queue. A client that connects in that moment is not refused:
/// TCP repeats its SYN a second later, and another process on the port answers.
struct ListenQueue {
    private let socket: (any SocketOptionProvider)?
    private let logger: Logger

    /// Long enough for handshakes that have begun.
    private static let handshakes = Duration.milliseconds(250)
    /// By then the loop that accepts has come by, or never will.
    private static let timeout = Duration.seconds(5)

    init(_ channel: any Channel, logger: Logger) {
        self.socket = channel as? any SocketOptionProvider
        self.logger = logger
    }

    /// Drops new connections, and waits until the queue is empty.
    func empty() async {
        #if os(Linux)
        guard let socket = self.socket else { return }
        do {
            // If the system hands queued connections to other listeners of the port, there is no need to wait.
            let handshakes = Self.systemMovesQueues ? Duration.zero : Self.handshakes
            if handshakes > .zero { try await Self.refuseNew(socket) }
            let start = ContinuousClock.now
            while try await Self.count(socket) > 0 || ContinuousClock.now - start < handshakes {
                guard ContinuousClock.now - start < Self.timeout else { return }
                try await Task.sleep(for: .milliseconds(50))
            }
        } catch {
            self.logger.debug("Accepting the queued connections failed", metadata: ["error": "\(error)"])
        }
        #endif
    }

    #if os(Linux)
    /// Whether closing a port hands its queue to another socket there (Linux 5.14, off unless asked for).
    private static var systemMovesQueues: Bool {
        (try? String(contentsOfFile: "/proc/sys/net/ipv4/tcp_migrate_req", encoding: .ascii)).map {
            $0.trimmingCharacters(in: .whitespacesAndNewlines) == "1"
        } ?? false
    }

    /// Of a listening socket this field holds how many wait to be accepted.
    private static func count(_ socket: any SocketOptionProvider) async throws -> UInt32 {
        try await socket.getTCPInfo().get().tcpi_unacked
    }

    /// Installs a filter that drops the packets that begin a connection, and no others.
    private static func refuseNew(_ socket: any SocketOptionProvider) async throws {
        let code: [FilterInstruction] = [
            // The flags of the TCP header: SYN without ACK?
            FilterInstruction(code: 0x30, constant: 13),
            FilterInstruction(code: 0x54, constant: 0x12),
            FilterInstruction(code: 0x15, ifTrue: 0, ifFalse: 1, constant: 0x02),
            // Drop it; else keep the whole packet.
            FilterInstruction(code: 0x06, constant: 0),
            FilterInstruction(code: 0x06, constant: .max),
        ]
        let memory = UnsafeMutablePointer<FilterInstruction>.allocate(capacity: code.count)
        defer { unsafe memory.deallocate() }
        unsafe memory.initialize(from: code, count: code.count)
        try await unsafe socket.unsafeSetSocketOption(
            level: .socket,
            name: NIOBSDSocket.Option(rawValue: SO_ATTACH_FILTER),
            value: FilterProgram(count: UInt16(code.count), code: memory)
        ).get()
    }
    #endif
}

#if os(Linux)
/// `struct sock_filter` of `linux/filter.h`: an instruction of classic BPF.
private struct FilterInstruction {
    let code: UInt16
    var ifTrue: UInt8 = 0
    var ifFalse: UInt8 = 0
    let constant: UInt32
}

/// `struct sock_fprog`; @unchecked: it is only read, and its creator keeps the memory until the system has copied it.
@unsafe private struct FilterProgram: @unchecked Sendable {
    let count: UInt16
    let code: UnsafeMutablePointer<FilterInstruction>
}
#endif
