import Foundation
import Installation
import InstallationSupport
import NIOCore
import NIOPosix
import RawHTTP
import Testing
import Undisturbed

@testable import PushlineSimulator

/// Thousands of connections on which nobody asks or reads end by their deadlines, and others are served meanwhile.
@Suite(
    .serialized,
    .installation(["PUSHLINE_API_REQUEST_TIME": "3", "PUSHLINE_API_CONNECTIONS_PER_PEER": "0"]),
    .timeLimit(.minutes(3)),
    .undisturbed
) struct ConnectionFloodTests {
    /// So many as both processes have descriptors for.
    private static var crowd: Int {
        DescriptorLimit.raise()
        return min(5000, (DescriptorLimit.current?.soft ?? 1024) - 500)
    }

    /// A deadline of 3 s is looked at every quarter of it, and many connections end together on a small machine.
    private static let deadline = Duration.seconds(20)

    /// Connects as often, says this each time, and reads nothing.
    private static func flood(_ count: Int, port: Int, saying text: [UInt8]) async throws -> [any Channel] {
        var channels: [any Channel] = []
        while channels.count < count {
            channels += try await withThrowingTaskGroup(of: (any Channel).self) { group in
                for _ in 0..<min(64, count - channels.count) {
                    group.addTask { try await Self.connect(port: port, saying: text) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        return channels
    }

    private static func connect(port: Int, saying text: [UInt8]) async throws -> any Channel {
        try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.socketOption(.so_rcvbuf), value: 4096)
            .channelInitializer { $0.pipeline.addHandler(Unread(text)) }
            .connect(host: "127.0.0.1", port: port).get()
    }

    /// Says its text and reads no answer; an end is read, and an error is one.
    private final class Unread: ChannelDuplexHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        let text: [UInt8]

        init(_ text: [UInt8]) { self.text = text }

        func channelActive(context: ChannelHandlerContext) {
            let text = self.wrapOutboundOut(ByteBuffer(bytes: self.text))
            if !self.text.isEmpty { context.writeAndFlush(text, promise: nil) }
            context.fireChannelActive()
        }

        /// The end of what is empty costs nothing to read; an answer is left where it is.
        func read(context: ChannelHandlerContext) { if self.text.count < 100 { context.read() } }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private struct WrongAnswer: Error { let text: String }

    /// How long requests take, one after the other, while the body runs.
    private static func timesWhile(
        port: Int,
        _ body: () async throws -> Void
    ) async throws -> [Duration] {
        try await withThrowingTaskGroup(of: [Duration].self) { group in
            group.addTask {
                var times: [Duration] = []
                while !Task.isCancelled {
                    let start = ContinuousClock.now
                    var connection = try await RawConnection.open(port: port)
                    defer { connection.close() }
                    let answer: String
                    do {
                        answer = try await connection.exchange("GET /api/jobs HTTP/1.1\r\nHost: a\r\n\r\n")
                    } catch is RawConnection.BrokenOff where Task.isCancelled {
                        // The body has ended in the middle of this one: a cancelled task hears no more of an answer.
                        break
                    }
                    guard answer.hasPrefix("HTTP/1.1 401 ") else { throw WrongAnswer(text: answer) }
                    times.append(ContinuousClock.now - start)
                    try? await Task.sleep(for: .milliseconds(50))
                }
                return times
            }
            try await body()
            group.cancelAll()
            return try await group.next() ?? []
        }
    }

    private static func expectEnded(_ channels: [any Channel], _ what: Comment) async throws {
        let end = ContinuousClock.now + Self.deadline
        while channels.contains(where: \.isActive), ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(100))
        }
        let left = channels.filter(\.isActive).count
        #expect(left == 0, what)
        for channel in channels { channel.close(promise: nil) }
    }

    private static func expectServed(_ times: [Duration]) {
        let sorted = times.sorted()
        #expect(sorted.count > 10)
        #expect(sorted[sorted.count / 2] < .seconds(1) && sorted[sorted.count * 9 / 10] < .seconds(1), "\(sorted)")
    }

    @Test func silentConnectionsAndSlowReadersAreClosedAndOthersAreServed() async throws {
        let installation = try #require(EndToEndInstallation.current)
        let port = installation.port
        let large = "GET /openapi.yaml HTTP/1.1\r\nHost: a\r\n\r\n"
        let times = try await Self.timesWhile(port: port) {
            let silent = try await Self.flood(Self.crowd / 2, port: port, saying: [])
            let half = try await Self.flood(Self.crowd / 4, port: port, saying: Array("GET /api/jobs HTT".utf8))
            let readers = try await Self.flood(
                Self.crowd / 4,
                port: port,
                saying: Array(String(repeating: large, count: 20).utf8)
            )
            try await Self.expectEnded(silent + half, "silent")
            try await Self.expectEnded(readers, "not reading")
        }
        Self.expectServed(times)
    }

    /// Without a descriptor for it a connection waits, and is taken when there is one again.
    @Test func aListenerOutOfDescriptorsAcceptsAgainOnceOneIsFree() async throws {
        let installation = try #require(EndToEndInstallation.current)
        let process = try #require(await installation.processIdentifier(of: "api"))
        // A connection that is there serves on, and shows that the process does.
        var before = try await RawConnection.open(port: installation.port)
        defer { before.close() }
        let request = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        #expect(try await before.exchange(request).hasPrefix("HTTP/1.1 200 "))
        try Self.setDescriptors(of: process, to: 1)
        var refused = try await RawConnection.open(port: installation.port)
        defer { refused.close() }
        #expect(try await before.exchange(request).hasPrefix("HTTP/1.1 200 "))
        try await Task.sleep(for: .milliseconds(500))
        try Self.setDescriptors(of: process, to: 4096)
        #expect(try await refused.exchange(request).hasPrefix("HTTP/1.1 200 "))
    }

    /// Changes the soft limit of a process of ours while it runs.
    private static func setDescriptors(of process: Int32, to count: Int) throws {
        let command = try Process.run(
            URL(filePath: "/usr/bin/prlimit"),
            arguments: ["--pid", "\(process)", "--nofile=\(count):"]
        )
        command.waitUntilExit()
        try #require(command.terminationStatus == 0)
    }

    /// A second API of the installation, with a certificate.
    @Test func unfinishedHandshakesAreClosedAndOthersAreServed() async throws {
        let installation = try #require(EndToEndInstallation.current)
        let folder = FileManager.default.temporaryDirectory.appending(path: "flood-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let material = try KeyMaterial.load(folder: nil)
        let (certificate, key) = (folder.appending(path: "chain.pem").path, folder.appending(path: "key.pem").path)
        try Data(material.serverPEM.utf8).write(to: URL(filePath: certificate))
        try Data(material.serverKeyPEM.utf8).write(to: URL(filePath: key))
        let port = try await FreePort.find()
        try await installation.start(
            "api",
            as: "secure-api",
            environment: [
                "PUSHLINE_API_PORT": "\(port)", "PUSHLINE_API_CERTIFICATE_FILE": certificate,
                "PUSHLINE_API_KEY_FILE": key,
            ]
        )
        try await eventually("the second API serves") { try await installation.hasServed("secure-api") }
        let times = try await Self.timesWhile(port: installation.port) {
            let silent = try await Self.flood(Self.crowd / 2, port: port, saying: [])
            let half = try await Self.flood(Self.crowd / 2, port: port, saying: [0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
            try await Self.expectEnded(silent + half, "half a handshake")
        }
        Self.expectServed(times)
        #expect(try await installation.terminate("secure-api") == 0)
        try FileManager.default.removeItem(at: folder)
    }
}
