import Foundation
import InstallationSupport
import NIOCore
import Testing
import Undisturbed

/// What large uploads may take.
@Suite(
    .serialized,
    .installation(["PUSHLINE_API_REQUESTS_PER_SECOND": "100000"]),
    .timeLimit(.minutes(3)),
    .undisturbed
)
struct UploadTests {
    private static let size = 8_388_607

    @Test func aThousandDrippingUploadsUseLittleMemoryAndDelayNobody() async throws {
        let installation = try #require(EndToEndInstallation.current)
        for user in ["bob", "carol"] { #expect(try await installation.asUser(user, "GET", "/api/jobs").status == 200) }
        let head = SlowRequest.head(
            "/api/contents",
            user: "carol",
            password: EndToEndInstallation.password,
            "Content-Type: image/png",
            "Content-Length: \(Self.size)"
        )
        let uploads = try await SlowRequest.open(1000, head, port: installation.port)
        defer { for upload in uploads { upload.close() } }
        let (peak, slowest) = try await withThrowingTaskGroup(of: Void.self) { group in
            for upload in uploads {
                group.addTask { try await Self.drip(upload) }
            }
            defer { group.cancelAll() }
            return try await Self.watch(installation, for: .seconds(15))
        }
        print("1,000 uploads: \(peak >> 20) MB resident, another user's slowest answer \(slowest)")
        #expect(peak < 300 << 20)
        #expect(slowest < .seconds(1))
        // Whoever is refused is told so.
        #expect(uploads.contains { $0.status == 503 })
    }

    /// Sends all but the last byte; goes on when it is refused, but slowly, for the test itself has to keep up.
    private static func drip(_ upload: SlowRequest) async throws {
        var left = Self.size - 1
        while left > 0 {
            let size = min(left, upload.status == nil ? 64 << 10 : 4 << 10)
            let next = ByteBuffer(repeating: 7, count: size)
            guard await upload.send(next) else { return }
            left -= next.readableBytes
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// The most memory that the API has meanwhile, and another user's slowest answer; ends early where it has far too much.
    private static func watch(
        _ installation: EndToEndInstallation,
        for time: Duration
    ) async throws -> (peak: Int, slowest: Duration) {
        let end = ContinuousClock.now + time
        var (peak, slowest) = (0, Duration.zero)
        while ContinuousClock.now < end, peak < 1 << 30 {
            let start = ContinuousClock.now
            #expect(try await installation.asUser("bob", "GET", "/api/jobs").status == 200)
            slowest = max(slowest, .now - start)
            peak = max(peak, try await Self.residentBytes(installation))
            try await Task.sleep(for: .milliseconds(100))
        }
        return (peak, slowest)
    }

    private static func residentBytes(_ installation: EndToEndInstallation) async throws -> Int {
        let id = try #require(await installation.processIdentifier(of: "api"))
        let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) }) << 10
    }
}
