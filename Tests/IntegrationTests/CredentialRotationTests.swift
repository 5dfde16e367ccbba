import Crypto
import CryptoExtras
import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

/// Credential files are replaced while sends go out: wrong ones stop their sender alone, right ones are taken up as they come.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(8)), .undisturbed) struct CredentialRotationTests {
    /// A file that is put back in the end.
    private struct KeptFile {
        let path: String
        let content: Data

        init(_ path: String) throws {
            self.path = path
            self.content = try Data(contentsOf: URL(filePath: path))
        }

        func replace(by content: Data) throws {
            try content.write(to: URL(filePath: self.path), options: .atomic)
        }

        func restore() throws { try self.replace(by: self.content) }
    }

    /// A service account whose key Google has never seen.
    private static func strange(_ account: Data) throws -> Data {
        var members = try #require(try JSONSerialization.jsonObject(with: account) as? [String: Any])
        members["private_key"] = try _RSA.Signing.PrivateKey(keySize: .bits2048).pkcs8PEMRepresentation
        return try JSONSerialization.data(withJSONObject: members)
    }

    private func send(_ tag: String, _ count: Int) async throws -> [String] {
        struct Accepted: Decodable { let id: String }
        let installation = try #require(EndToEndInstallation.current)
        var jobs: [String] = []
        for number in 0..<count {
            let body = #"{"to":{"tag":"\#(tag)"},"body":"\#(tag) \#(number)"}"#
            let answer = try await installation.asBackend("POST", "/api/sends", body: body)
            #expect(answer.status == 202)
            jobs.append(try answer.decoded(Accepted.self).id)
        }
        return jobs
    }

    private func expectAccepted(_ jobs: [String]) async throws {
        let installation = try #require(EndToEndInstallation.current)
        for id in jobs {
            let job = try await installation.finished(id, within: .seconds(150))
            #expect(job.state == "completed" && job.totals.targets == 1 && job.totals.accepted == 1)
        }
    }

    /// APNs counts the provider tokens of a connection: one for each jump would be too many.
    @Test func aClockThatIsSetStopsNothing() async throws {
        let installation = try #require(EndToEndInstallation.current)
        try await installation.register(
            "alice",
            platform: "apns",
            handle: String(repeating: "4c", count: 32),
            tags: ["clock"]
        )
        let worker = "delivery-worker"
        let jump = FileManager.default.temporaryDirectory.appending(path: "jump-\(UUID().uuidString)")
        try Data(count: 8).write(to: jump)
        defer { try? FileManager.default.removeItem(at: jump) }
        #expect(try await installation.terminate(worker) == 0)
        try await installation.start(worker, environment: ["PUSHLINE_CLOCK_JUMP": jump.path])
        try await self.expectAccepted(try await self.send("clock", 1))
        for milliseconds in [-90_000, 0, -90_000, 0, 3_600_000, 0, -86_400_000, 0] {
            // In its place, for the worker has mapped it.
            let file = try FileHandle(forWritingTo: jump)
            try file.write(contentsOf: Data((0..<8).map { UInt8(truncatingIfNeeded: milliseconds >> ($0 * 8)) }))
            try file.close()
            try await self.expectAccepted(try await self.send("clock", 1))
        }
        #expect(try await installation.terminate(worker) == 0)
        try await installation.start(worker)
    }

    /// A certificate in place of the key: renewed, then of another app, then renewed again.
    @Test func aRenewedCertificateIsTakenUpAndAnothersIsRefused() async throws {
        let installation = try #require(EndToEndInstallation.current)
        let simulator = installation.simulator
        let credentials = try simulator.credentials
        let file = try KeptFile(credentials.apnsCertificateFile)
        func put(_ certificate: APNsCertificate) throws {
            let (certificate, privateKey) = try credentials.issue(certificate)
            try file.replace(by: Data((certificate + "\n" + privateKey).utf8))
        }
        var app = try simulator.appSpec
        app.apns?.authentication = .certificate(.init(file: file.path))
        try await installation.apply(app)
        // All programs know it.
        try await Task.sleep(for: .milliseconds(2500))
        let handle = String(repeating: "3c", count: 32)
        try await installation.register("alice", platform: "apns", handle: handle, tags: ["certified"])
        async let steady = self.send("certified", 60)
        try put(credentials.apnsCertificate)
        try await Task.sleep(for: .milliseconds(2500))
        try await self.expectAccepted(try await steady)
        let received = simulator.received(token: handle)
        #expect(received.count == 60 && received.allSatisfy { $0.headers["authorization"] == nil })

        try put(APNsCertificate(topics: []))
        try await Task.sleep(for: .milliseconds(2500))
        let waiting = try await self.send("certified", 5)
        try await eventually("its sends wait and say why") {
            let job = try await installation.job(waiting[0])
            return job.state == "retrying" && job.reason?.contains("BadCertificate") == true
        }
        try put(credentials.apnsCertificate)
        try await self.expectAccepted(waiting)
        try await installation.apply(try simulator.appSpec)
        // The other test cuts key files off, which only a worker that has read them whole bears.
        try await eventually("the key is in use again") {
            try await self.expectAccepted(try await self.send("certified", 1))
            return simulator.received(token: handle).contains { $0.headers["authorization"] != nil }
        }
    }

    @Test(arguments: ["apns", "fcm"])
    func aRefusedCredentialStopsItsSenderOnly(pns: String) async throws {
        let installation = try #require(EndToEndInstallation.current)
        let credentials = try installation.simulator.credentials
        let file = try KeptFile(pns == "apns" ? credentials.apnsKeyFile : credentials.fcmServiceAccountFile)
        let (mine, other) = ("\(pns)-sick", "\(pns)-well")
        let handles = ["apns": String(repeating: pns == "apns" ? "1c" : "2c", count: 32), "fcm": "rotation:\(pns)"]
        for platform in ["apns", "fcm"] {
            let handle = try #require(handles[platform])
            try await installation.register(
                "alice",
                platform: platform,
                handle: handle,
                tags: [platform == pns ? mine : other]
            )
        }
        try await self.expectAccepted(try await self.send(mine, 2) + self.send(other, 2))

        // The same credential, written anew, and a file that is cut off: both while sends go out.
        async let steady = self.send(mine, 60)
        try file.replace(by: file.content + Data("\n".utf8))
        try await Task.sleep(for: .milliseconds(2500))
        try file.replace(by: file.content.prefix(file.content.count / 2))
        try await self.expectAccepted(try await steady)
        try await Task.sleep(for: .milliseconds(2500))
        try await self.expectAccepted(try await self.send(mine, 5))
        #expect(try await installation.log(of: "delivery-worker").contains("the old credentials stay in use"))

        // Of the right form, and refused.
        let wrong =
            pns == "apns"
            ? Data(P256.Signing.PrivateKey().pemRepresentation.utf8)
            : try Self.strange(file.content)
        try file.replace(by: wrong)
        try await Task.sleep(for: .milliseconds(2500))
        let waiting = try await self.send(mine, 10)
        try await self.expectAccepted(try await self.send(other, 10))
        try await eventually("its sends wait and say why") {
            let job = try await installation.job(waiting[0])
            return job.state == "retrying" && job.reason?.isEmpty == false
        }
        try file.restore()
        try await self.expectAccepted(waiting)
    }
}
