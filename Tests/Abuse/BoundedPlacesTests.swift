import InstallationSupport
import NIOCore
import Testing
import Undisturbed

/// Nobody takes all of what is bounded for the process.
@Suite(
    .serialized,
    .installation(["PUSHLINE_API_REQUESTS_PER_SECOND": "100000", "PUSHLINE_API_REQUEST_TIME": "6"]),
    .timeLimit(.minutes(3)),
    .undisturbed
)
struct BoundedPlacesTests {
    private static func head(_ path: String, _ fields: String) -> String {
        SlowRequest.head(path, user: "carol", password: EndToEndInstallation.password, fields)
    }

    @Test func announcedBodiesThatNeverArriveDoNotBlockOtherCallers() async throws {
        let installation = try #require(EndToEndInstallation.current)
        for user in ["bob", "carol"] { #expect(try await installation.asUser(user, "GET", "/api/jobs").status == 200) }
        let head = Self.head("/api/sends", "Content-Length: 100")
        let requests = try await SlowRequest.open(1100, head, port: installation.port)
        defer { for request in requests { request.close() } }
        try await eventually("some are refused") { requests.contains { $0.status == 503 } }
        #expect(try await installation.asUser("bob", "GET", "/api/jobs").status == 200)
        let body = #"{"to":{"user":"alice"},"body":"x"}"#
        #expect(try await installation.asUser("bob", "POST", "/api/sends", body: body).status == 202)
        #expect(try await installation.asBackend("POST", "/api/sends", body: body).status == 202)
    }

    @Test func drippingUploadsAreEndedAndDoNotBlockOtherCallers() async throws {
        let installation = try #require(EndToEndInstallation.current)
        #expect(try await installation.asUser("carol", "GET", "/api/jobs").status == 200)
        let head = Self.head("/api/sends/batch", "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked")
        let uploads = try await SlowRequest.open(20, head, port: installation.port)
        defer { for upload in uploads { upload.close() } }
        let start = ContinuousClock.now
        var answered = 0
        // A line end each second: each is an event, and none is a line.
        while answered < uploads.count, .now - start < .seconds(20) {
            for upload in uploads where upload.status == nil {
                _ = await upload.send(ByteBuffer(string: "1\r\n\n\r\n"))
            }
            let answer = try await installation.asBackend(
                "POST",
                "/api/sends/batch",
                body: #"{"to":{"user":"alice"},"body":"x"}"#,
                type: "application/x-ndjson"
            )
            #expect(answer.status == 200)
            try await Task.sleep(for: .seconds(1))
            answered = uploads.count { $0.status != nil }
        }
        print("uploads that drip: \(answered) of \(uploads.count) were ended")
        #expect(answered == uploads.count)
    }
}
