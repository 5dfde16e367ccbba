import Foundation
import Installation
import NIOConcurrencyHelpers
import NIOCore
import PushModel
import RawHTTP
import Testing
import Undisturbed

@testable import Runtime
@testable import WebServing

/// Who gets in where there are as many connections as may be.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct ConnectionLimitTests {
    private static let request = "GET /name HTTP/1.1\r\nHost: a\r\n\r\n"

    private static func isAnswered(port: Int) async throws -> Bool {
        var connection = try await RawConnection.open(port: port)
        defer { connection.close() }
        return try await connection.exchange(Self.request).hasPrefix("HTTP/1.1 200 ")
    }

    /// The oldest silent ones go, and who has asked before stays longer.
    @Test func silentConnectionsAreClosedForNewOnes() async throws {
        try await ServedListener.run(ServedListener.limits(request: 60_000, connections: 16)) { port in
            var regular = try await RawConnection.open(port: port)
            defer { regular.close() }
            #expect(try await regular.exchange(Self.request).hasPrefix("HTTP/1.1 200 "))
            var silent: [Stranger] = []
            for _ in 0..<60 { silent.append(try await Stranger.connect(port: port)) }
            #expect(try await Self.isAnswered(port: port))
            #expect(try await regular.exchange(Self.request).hasPrefix("HTTP/1.1 200 "))
            try await silent[0].end(within: .seconds(10))
            let end = ContinuousClock.now + .seconds(10)
            while silent.filter(\.channel.isActive).count > 16, ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(10))
            }
            let left = silent.filter(\.channel.isActive).count
            #expect(left <= 16)
            for stranger in silent { stranger.channel.close(promise: nil) }
        }
    }

    /// All are at work: a new connection is closed, and admitted when one of them has ended.
    @Test func newConnectionsAreClosedWhenAllAreBusy() async throws {
        let isReleased = NIOLockedValueBox(false)
        let limits = ServedListener.limits(request: 60_000, connections: 4)
        try await ServedListener.run(limits, isReleased: isReleased) { port in
            var busy: [Stranger] = []
            for _ in 0..<4 {
                let stranger = try await Stranger.connect(port: port)
                try await stranger.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
                // Before that it is a connection without a request, which makes room.
                while stranger.channel.isActive, !stranger.text.contains("begun") {
                    try await Task.sleep(for: .milliseconds(5))
                }
                busy.append(stranger)
            }
            let other = try await Stranger.connect(port: port)
            try await other.end(within: .seconds(30))
            let atWork = busy.filter(\.channel.isActive).count
            #expect(atWork == 4)
            isReleased.withLockedValue { $0 = true }
            for stranger in busy {
                while stranger.channel.isActive, !stranger.text.contains("ended") {
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            let end = ContinuousClock.now + .seconds(30)
            var isLetIn = false
            while !isLetIn, ContinuousClock.now < end { isLetIn = (try? await Self.isAnswered(port: port)) == true }
            #expect(isLetIn)
            for stranger in busy { stranger.channel.close(promise: nil) }
        }
    }

    @Test func onePeerHasALimitedNumberOfConnections() async throws {
        try await ServedListener.run(ServedListener.limits(request: 60_000, perPeer: 3)) { port in
            var mine: [Stranger] = []
            for _ in 0..<4 { mine.append(try await Stranger.connect(port: port, from: "127.0.0.2")) }
            // The one that is taken in last finds three; several threads take them in.
            let patience = ContinuousClock.now + .seconds(10)
            while mine.count > 3, ContinuousClock.now < patience {
                mine.removeAll { !$0.channel.isActive }
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(mine.count == 3)
            #expect(try await Self.isAnswered(port: port))
            // One goes, one comes.
            try await mine.removeFirst().channel.close()
            let end = ContinuousClock.now + .seconds(10)
            var isLetIn = false
            while !isLetIn, ContinuousClock.now < end {
                let next = try await Stranger.connect(port: port, from: "127.0.0.2")
                // Whoever is refused may be closed before it has said anything.
                try? await next.send(Self.request)
                while next.channel.isActive, next.text.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
                isLetIn = next.text.hasPrefix("HTTP/1.1 200 ")
                next.channel.close(promise: nil)
            }
            #expect(isLetIn)
            for stranger in mine { stranger.channel.close(promise: nil) }
        }
    }

    @Test func aTrustedProxyHasNoLimit() async throws {
        var limits = ServedListener.limits(request: 60_000, perPeer: 1)
        limits.proxies = try TrustedProxies("127.0.0.1")
        try await ServedListener.run(limits) { port in
            let first = try await Stranger.connect(port: port)
            #expect(try await Self.isAnswered(port: port))
            #expect(first.channel.isActive)
            first.channel.close(promise: nil)
        }
    }

    @Test func aPeerIsAnIPv4AddressOrAnIPv6Prefix() throws {
        func peer(_ text: String) throws -> IPAddress? {
            IPAddress(try SocketAddress(ipAddress: text, port: 1))?.client
        }
        #expect(try peer("192.0.2.1") == peer("192.0.2.1"))
        #expect(try peer("192.0.2.1") != peer("192.0.2.2"))
        #expect(try peer("::ffff:192.0.2.1") == peer("192.0.2.1"))
        #expect(try peer("2001:db8::1") == peer("2001:db8::ffff:2"))
        #expect(try peer("2001:db8::1") != peer("2001:db8:0:1::1"))
    }

    @Test func connectionsAreLimitedByDescriptors() throws {
        #expect(DescriptorLimit(soft: 1024, hard: 4096).connections(10_000) == 824)
        #expect(DescriptorLimit(soft: 65_536, hard: 65_536).connections(10_000) == 10_000)
        #expect(DescriptorLimit(soft: 100, hard: 100).connections(10_000) == 16)
        DescriptorLimit.raise()
        let limit = try #require(DescriptorLimit.current)
        #expect(limit.soft == limit.hard)
    }
}
