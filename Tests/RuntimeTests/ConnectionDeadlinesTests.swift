import NIOCore
import NIOPosix
import RawHTTP
import Testing
import Undisturbed

@testable import Runtime
@testable import WebServing

/// Connections on which nothing is asked or read end; those that are used do not.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct ConnectionDeadlinesTests {
    private static let request = "GET /name HTTP/1.1\r\nHost: a\r\n\r\n"

    /// One deadline and the look after it, with room for a busy machine: far below what a minute of nothing would be.
    private static let soon = Duration.seconds(10)

    @Test(arguments: ["", "GET /na", "GET /name HTTP/1.1\r\nHost: a\r\nX"])
    func aConnectionWithoutARequestIsClosed(sent: String) async throws {
        try await ServedListener.run(ServedListener.limits(request: 400)) { port in
            // From before the connection: the server may see it long before this task goes on.
            let start = ContinuousClock.now
            let stranger = try await Stranger.connect(port: port)
            try await stranger.send(sent)
            try await stranger.end(within: Self.soon)
            #expect(ContinuousClock.now - start > .milliseconds(350))
            #expect(stranger.text == "")
        }
    }

    /// Drip by drip is not progress.
    @Test func aConnectionWithEndlessHeadersIsClosed() async throws {
        try await ServedListener.run(ServedListener.limits(request: 400)) { port in
            let stranger = try await Stranger.connect(port: port)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await stranger.send("GET /name HTTP/1.1\r\nHost: a\r\nX: ")
                    // The write fails when the server has closed.
                    while true {
                        try await stranger.send("x")
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                try await stranger.end(within: Self.soon)
                group.cancelAll()
                await #expect(throws: (any Error).self) { try await group.waitForAll() }
            }
        }
    }

    /// Nothing, and a part of the record that a client begins with.
    @Test(arguments: [[], [0x16, 0x03, 0x01, 0x02, 0x00, 0x01]] as [[UInt8]])
    func anUnfinishedHandshakeIsClosed(sent: [UInt8]) async throws {
        try await ServedListener.run(ServedListener.limits(request: 400), tls: true) { port in
            let stranger = try await Stranger.connect(port: port)
            try await stranger.send(sent)
            try await stranger.end(within: Self.soon)
        }
    }

    @Test(arguments: ["http/1.1", "h2"])
    func aHandshakeWithoutARequestIsClosed(alpn: String) async throws {
        try await ServedListener.run(ServedListener.limits(request: 400), tls: true) { port in
            let stranger = try await Stranger.connect(port: port, alpn: alpn)
            if alpn == "h2" { try await stranger.send(HTTP2Bytes.preface()) }
            try await stranger.end(within: Self.soon)
        }
    }

    @Test func anIdleConnectionIsClosedWithNotice() async throws {
        try await ServedListener.run(ServedListener.limits(request: 300, idle: 600)) { port in
            let stranger = try await Stranger.connect(port: port)
            // Busy for longer than any deadline: each answer begins a new wait.
            for _ in 0..<10 {
                try await stranger.send(Self.request)
                try await Task.sleep(for: .milliseconds(100))
            }
            let answers = stranger.text.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
            #expect(answers == Array(repeating: "200", count: 10), "\(stranger.text)")
            try await stranger.end(within: Self.soon)
        }
    }

    /// A request has deadlines of its own: the connection's do not count meanwhile.
    @Test func aConnectionWithARequestInProgressIsNotClosed() async throws {
        try await ServedListener.run(ServedListener.limits(request: 300)) { port in
            var connection = try await RawConnection.open(port: port)
            defer { connection.close() }
            let answer = try await connection.exchange("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(answer.hasSuffix("late"), "\(answer)")
        }
    }

    @Test(arguments: [nil, "http/1.1"] as [String?])
    func aClientThatDoesNotReadIsClosed(alpn: String?) async throws {
        try await ServedListener.run(ServedListener.limits(request: 500), tls: alpn != nil) { port in
            let stranger = try await Stranger.connect(port: port, reads: alpn != nil, alpn: alpn)
            if alpn != nil {
                // The handshake has to be read.
                try await stranger.send(Self.request)
                while stranger.channel.isActive, stranger.text.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
                try await stranger.channel.setOption(.autoRead, value: false).get()
            }
            try await stranger.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n")
            try await stranger.end(within: Self.soon)
        }
    }

    /// A byte now and then is not enough.
    @Test func aClientThatReadsTooSlowlyIsClosed() async throws {
        try await ServedListener.run(ServedListener.limits(request: 500)) { port in
            let stranger = try await Stranger.connect(port: port, reads: false)
            try await stranger.readPieces(of: 512)
            try await stranger.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n")
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while !Task.isCancelled {
                        stranger.channel.read()
                        try await Task.sleep(for: .milliseconds(100))
                    }
                }
                try await stranger.end(within: Self.soon)
                group.cancelAll()
            }
        }
    }

    /// As long as it goes on: it takes longer than every deadline here.
    @Test func aClientThatReadsSteadilyGetsTheWholeAnswer() async throws {
        try await ServedListener.run(ServedListener.limits(request: 1000)) { port in
            // A small window, and a look into it now and then.
            let stranger = try await Stranger.connect(port: port, reads: false)
            try await stranger.send("GET /medium HTTP/1.1\r\nHost: a\r\n\r\n")
            let start = ContinuousClock.now
            while stranger.bytes.count < ServedListener.medium, ContinuousClock.now - start < .seconds(60) {
                stranger.channel.read()
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(stranger.bytes.count >= ServedListener.medium)
            #expect(ContinuousClock.now - start > .seconds(2))
            stranger.channel.close(promise: nil)
        }
    }

    // MARK: HTTP/2

    /// With a window of nothing, no byte of the answer can leave.
    @Test func aStreamWithoutAWindowIsReset() async throws {
        try await ServedListener.run(ServedListener.limits(request: 500), tls: true) { port in
            let stranger = try await Stranger.connect(port: port, alpn: "h2")
            try await stranger.send(HTTP2Bytes.preface(window: 0) + HTTP2Bytes.get("/big", stream: 1))
            // The stream first, then the connection on which nothing is asked.
            try await stranger.end(within: Self.soon)
            let kinds = HTTP2Bytes.kinds(stranger.bytes)
            #expect(kinds.contains(HTTP2Bytes.headers) && kinds.contains(HTTP2Bytes.reset), "\(kinds)")
            #expect(kinds.contains(HTTP2Bytes.goAway), "\(kinds)")
        }
    }

    /// Who does not answer the ping that comes with GOAWAY stays connected for ever, if nobody ends that.
    @Test func anIdleConnectionIsClosedWithoutAPingAnswer() async throws {
        try await ServedListener.run(ServedListener.limits(request: 400), tls: true) { port in
            let stranger = try await Stranger.connect(port: port, alpn: "h2")
            try await stranger.send(HTTP2Bytes.preface() + HTTP2Bytes.get("/name", stream: 1))
            try await stranger.end(within: Self.soon)
            let kinds = HTTP2Bytes.kinds(stranger.bytes)
            #expect(kinds.contains(HTTP2Bytes.data) && kinds.contains(HTTP2Bytes.goAway), "\(kinds)")
        }
    }
}

/// As little of HTTP/2 as a client needs that shall not be polite.
enum HTTP2Bytes {
    static let (data, headers, reset, goAway): (UInt8, UInt8, UInt8, UInt8) = (0, 1, 3, 7)

    static func preface(window: UInt32 = 65_535) -> [UInt8] {
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + self.frame(4, 0, 0, [0, 4] + self.bytes(window))
    }

    /// GET, https, the path and the authority, none of them compressed but by number.
    static func get(_ path: String, stream: UInt32) -> [UInt8] {
        let block: [UInt8] = [0x82, 0x87, 0x04, UInt8(path.utf8.count)] + Array(path.utf8) + [0x01, 1, 0x61]
        return self.frame(self.headers, 0x05, stream, block)
    }

    /// What kinds of frames these are, one after the other.
    static func kinds(_ bytes: [UInt8]) -> [UInt8] {
        var kinds: [UInt8] = []
        var rest = bytes[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            kinds.append(head[3])
            rest = rest.dropFirst(9 + (Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])))
        }
        return kinds
    }

    private static func frame(_ kind: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        self.bytes(UInt32(payload.count)).dropFirst() + [kind, flags] + self.bytes(stream) + payload
    }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
