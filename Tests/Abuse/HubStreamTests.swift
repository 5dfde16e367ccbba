import Foundation
import InstallationSupport
import RawHTTP
import Testing
import Undisturbed

/// HTTP/2 against its meaning, at `pushline-hub`, which is served over TLS alone.
@Suite(
    .serialized,
    .installation(["PUSHLINE_API_REQUESTS_PER_SECOND": "100000"]),
    .timeLimit(.minutes(3)),
    .undisturbed
)
struct HubStreamTests {
    /// A frame of HTTP/2 (RFC 9113, section 4.1).
    private static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags]
            + [UInt8(stream >> 24 & 127), UInt8(stream >> 16 & 255), UInt8(stream >> 8 & 255), UInt8(stream & 255)]
            + payload
    }

    /// Headers without compression (RFC 7541, section 6.2.2): names of the static table by their numbers.
    private static func headers(_ hub: HubAccess, path: String) -> [UInt8] {
        func text(_ text: String) -> [UInt8] { [UInt8(min(127, text.utf8.count))] + Array(text.utf8.prefix(127)) }
        // :method POST, :scheme https, :path, :authority
        return [0x83, 0x87, 0x04] + text(path) + [0x01] + text("localhost")
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private static func expectServing(_ hub: HubAccess) async throws {
        var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority)
        defer { connection.close() }
        let start = ContinuousClock.now
        let answer = try await connection.exchange(hub.request("POST", "/registrationids?api-version=2020-06"))
        #expect(answer.hasPrefix("HTTP/1.1 201 "), "\(answer.prefix(200))")
        #expect(ContinuousClock.now - start < .seconds(2))
    }

    /// CVE-2023-44487.
    @Test func streamsThatAreResetAtOnceEndTheirConnectionAndNobodyElses() async throws {
        let installation = try #require(EndToEndInstallation.current)
        let hub = try await installation.startHub()
        let process = try #require(await installation.processIdentifier(of: "hub"))
        var ended = 0
        for _ in 0..<4 {
            var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority, protocols: ["h2"])
            defer { connection.close() }
            try await connection.write(Self.preface + Self.frame(4, stream: 0))
            var stream: UInt32 = 1
            do {
                for _ in 0..<200 {
                    var burst: [UInt8] = []
                    for _ in 0..<100 {
                        burst += Self.frame(1, flags: 0x4, stream: stream, Self.headers(hub, path: "/default/messages"))
                        burst += Self.frame(3, stream: stream, [0, 0, 0, 8])
                        stream += 2
                    }
                    try await connection.write(burst)
                }
                _ = try await connection.rest()
                ended += 1
            } catch { ended += 1 }
            try await Self.expectServing(hub)
        }
        #expect(ended == 4)
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        let peak = try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        print("80,000 streams reset at once: \(peak >> 10) MB at most")
        #expect(peak < 300 << 10)
    }

    @Test func framesThatMeanNothingEndTheirConnection() async throws {
        let installation = try #require(EndToEndInstallation.current)
        let hub = try await installation.startHub(as: "hub-frames")
        for attack in [
            // A flood of settings, one of pings, a header block without an end, a frame that is too large, no HTTP/2 at all.
            (0..<20_000).flatMap { _ in Self.frame(4, stream: 0) },
            (0..<20_000).flatMap { _ in Self.frame(6, stream: 0, [UInt8](repeating: 0, count: 8)) },
            Self.frame(1, stream: 1, Self.headers(hub, path: "/"))
                + (0..<5000).flatMap { _ in
                    Self.frame(9, stream: 1, [0x00, 0x01, 0x61, 0x7F, 0x00] + [UInt8](repeating: 97, count: 127))
                },
            Self.frame(0, stream: 1, [UInt8](repeating: 0, count: 100_000)), Array("GET / HTTP/1.1\r\n\r\n".utf8),
        ] as [[UInt8]] {
            var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority, protocols: ["h2"])
            try? await connection.write(Self.preface + Self.frame(4, stream: 0) + attack)
            try await Self.expectServing(hub)
            connection.close()
            _ = try? await connection.rest()
        }
        #expect(await installation.isRunning("hub-frames"))
    }
}
