import Foundation
import Hummingbird
import HummingbirdCore
import Installation
import Logging
import NIOCore
import NIOPosix
import RawHTTP
import ServiceLifecycle
import Settings
import Testing
import Undisturbed

@testable import Runtime
@testable import WebServing

/// A port that processes share, and what becomes of connections when one of them goes.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct HTTPListenerTests {
    private static let quiet: Logger = {
        var logger = Logger(label: "test.listener")
        logger.logLevel = .critical
        return logger
    }()

    private static var storePath: String {
        FileManager.default.temporaryDirectory.appending(path: "listener-\(UUID().uuidString).sqlite").path
    }

    /// A listener that runs.
    private struct Running {
        let group: ServiceGroup
        let port: Int
    }

    /// Runs a listener as long as the body; it answers every path with its name.
    private static func withListener(
        _ name: String,
        port: Int,
        store: String,
        timeout: TimeAmount = .milliseconds(500),
        _ body: (Running) async throws -> Void
    ) async throws {
        let (addresses, continuation) = AsyncStream<Int>.makeStream()
        let router = Router()
        router.get("name") { _, _ in name }
        let listener = HTTPListener(
            child: HTTP1Channel(
                responder: HTTPListener<HTTP1Channel>.answer(with: router.buildResponder(), logger: Self.quiet),
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [EarlyResponseHandler(timeout: timeout)]
                )
            ),
            host: "127.0.0.1",
            ports: [port],
            keys: "api.host, api.port",
            claim: PortClaim(base: store),
            logger: Self.quiet,
            onServing: { continuation.yield($0?.port ?? 0) }
        )
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: listener,
                        successTerminationBehavior: .gracefullyShutdownGroup
                    )
                ],
                logger: Self.quiet
            )
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { continuation.finish() }
                try await group.run()
            }
            guard let port = await addresses.first(where: { _ in true }) else { return try await tasks.waitForAll() }
            try await body(Running(group: group, port: port))
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    private static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(channel.localAddress?.port)
        try await channel.close()
        return port
    }

    /// What a client met that asked again and again, each time on a connection of its own.
    private static func failures(port: Int, until end: ContinuousClock.Instant) async -> [String] {
        var failures: [String] = []
        while ContinuousClock.now < end {
            do {
                var connection = try await RawConnection.open(port: port)
                defer { connection.close() }
                let answer = try await connection.exchange("GET /name HTTP/1.1\r\nHost: a\r\n\r\n")
                if !answer.hasPrefix("HTTP/1.1 200 ") { failures.append(answer) }
            } catch {
                failures.append("\(error)")
            }
        }
        return Array(failures.prefix(3))
    }

    @Test func aPortIsHandedOverWithoutLosingAConnection() async throws {
        let (port, store) = (try await Self.freePort(), Self.storePath)
        let end = ContinuousClock.now + .seconds(3)
        try await Self.withListener("b", port: port, store: store) { _ in
            try await withThrowingTaskGroup(of: [String].self) { clients in
                try await Self.withListener("a", port: port, store: store) { _ in
                    for _ in 0..<16 { clients.addTask { await Self.failures(port: port, until: end) } }
                    // Then it goes, and the other stays.
                    try await Task.sleep(for: .seconds(1))
                }
                for try await failures in clients {
                    #expect(failures.isEmpty)
                }
            }
        }
    }

    @Test func aDrainingConnectionClosesAfterItsNextAnswer() async throws {
        // Longer than any machine needs for the next request.
        try await Self.withListener("a", port: 0, store: Self.storePath, timeout: .seconds(90)) { running in
            var connection = try await RawConnection.open(port: running.port)
            defer { connection.close() }
            let request = "GET /name HTTP/1.1\r\nHost: a\r\n\r\n"
            let first = try await connection.exchange(request)
            #expect(first.hasSuffix("\r\n\r\na") && !first.lowercased().contains("connection: close"), "\(first)")
            await running.group.triggerGracefulShutdown()
            // It is good for requests until it has heard of the drain, and then for one.
            var last = first
            while last.hasPrefix("HTTP/1.1 200 "), !last.lowercased().contains("connection: close") {
                try await Task.sleep(for: .milliseconds(20))
                last = try await connection.exchange(request)
            }
            #expect(last.hasPrefix("HTTP/1.1 200 "), "\(last)")
        }
    }

    @Test func anIdleConnectionDoesNotDelayTheDrain() async throws {
        let start = ContinuousClock.now
        try await Self.withListener("a", port: 0, store: Self.storePath) { running in
            var connection = try await RawConnection.open(port: running.port)
            defer { connection.close() }
            await running.group.triggerGracefulShutdown()
            let rest = try await connection.rest()
            #expect(rest == "")
        }
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func aPortOfAnotherInstallationIsNotShared() async throws {
        let port = try await Self.freePort()
        try await Self.withListener("a", port: port, store: Self.storePath) { _ in
            let error = await #expect(throws: ConfigurationError.self) {
                try await Self.withListener("b", port: port, store: Self.storePath) { _ in }
            }
            #expect(
                error?.description
                    == "api.host, api.port: cannot listen on 127.0.0.1:\(port): another process does"
            )
        }
        // Free again.
        try await Self.withListener("b", port: port, store: Self.storePath) { #expect($0.port == port) }
    }

    @Test func datesHaveTheHTTPForm() {
        #expect(HTTPDates.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDates.text(1_709_164_800) == "Thu, 29 Feb 2024 00:00:00 GMT")
    }
}
