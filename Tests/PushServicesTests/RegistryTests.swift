import Crypto
import Foundation
import PushModel
import PushServices
import PushlineSimulator
import Testing
import Undisturbed

@Suite("Registry of senders", .serialized, .undisturbed)
struct RegistryTests {
    @Test("an unchanged declaration keeps its sender")
    func kept() async throws {
        try await Senders.with { senders in
            let first = try senders.sender(.apns)
            let second = try senders.sender(.apns)
            #expect(first as AnyObject === second as AnyObject)
            let other = try senders.sender(.fcm)
            #expect(first as AnyObject !== other as AnyObject)
        }
    }

    @Test("a changed declaration gets a new sender")
    func specChanged() async throws {
        try await Senders.with { senders in
            let first = try senders.sender(.apns)
            var other = senders
            other.spec.apns?.authentication = try senders.token(keyID: "OTHERKEY01")
            let second = try other.sender(.apns)
            #expect(first as AnyObject !== second as AnyObject)
            // The first one's batches may still run.
            #expect(try await first.send(senders.batch(.apns, 1)) == [.accepted])
            let results = try await second.send(senders.batch(.apns, 1))
            guard case .misconfigured = results[0] else {
                Issue.record("\(results)")
                return
            }
        }
    }

    @Test("a replaced file gets a new sender, a touched one does not")
    func fileChanged() async throws {
        try await Senders.with(SimulatorConfiguration(), { $0.fileCheckInterval = .zero }) { senders in
            let path = try senders.simulator.credentials.apnsKeyFile
            let good = try Data(contentsOf: URL(filePath: path))
            let first = try senders.sender(.apns)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1)],
                ofItemAtPath: path
            )
            let touched = try senders.sender(.apns)
            #expect(touched as AnyObject === first as AnyObject)

            try Data(P256.Signing.PrivateKey().pemRepresentation.utf8).write(to: URL(filePath: path), options: .atomic)
            let wrong = try senders.sender(.apns)
            #expect(wrong as AnyObject !== first as AnyObject)
            let results = try await wrong.send(senders.batch(.apns, 1))
            guard case .misconfigured = results[0] else {
                Issue.record("\(results)")
                return
            }
            try good.write(to: URL(filePath: path), options: .atomic)
            #expect(try await senders.sender(.apns).send(senders.batch(.apns, 1)) == [.accepted])
        }
    }

    @Test(
        "a file that is replaced by what is none stops nobody",
        arguments: ["", "-----BEGIN PRIVATE KEY-----\nMIGH", nil]
    )
    func fileBroken(content: String?) async throws {
        try await Senders.with(SimulatorConfiguration(), { $0.fileCheckInterval = .zero }) { senders in
            let path = try senders.simulator.credentials.apnsKeyFile
            let good = try Data(contentsOf: URL(filePath: path))
            let first = try senders.sender(.apns)
            if let content {
                try Data(content.utf8).write(to: URL(filePath: path), options: .atomic)
            } else {
                try FileManager.default.removeItem(atPath: path)
            }
            let kept = try senders.sender(.apns)
            #expect(kept as AnyObject === first as AnyObject)
            #expect(try await kept.send(senders.batch(.apns, 1)) == [.accepted])
            // Another that is good is taken up, and the first one's batches may still run.
            try (good + Data("\n".utf8)).write(to: URL(filePath: path), options: .atomic)
            let next = try senders.sender(.apns)
            #expect(next as AnyObject !== first as AnyObject)
            #expect(try await next.send(senders.batch(.apns, 1)) == [.accepted])
            #expect(try await first.send(senders.batch(.apns, 1)) == [.accepted])
        }
    }

    @Test("expiry dates come from certificates and from declared secrets")
    func ends() async throws {
        try await Senders.with { senders in
            var told = senders
            let end = try #require(Timestamp(rfc3339: "2027-01-31T00:00:00Z"))
            told.spec.wns?.secretEnds = end
            let ends = try told.registry.ends(app: .default, pns: .wns, spec: told.spec)
            #expect(ends.map(\.setting) == ["wns.trust_file", "wns.client_secret_file"])
            #expect(ends.last?.end == end)
            #expect(ends.first?.days() ?? 0 > 0)
            let before = { (days: Int64) in Timestamp(milliseconds: end.milliseconds - days * 86_400_000) }
            let secret = try #require(ends.last)
            #expect(!secret.isNear(from: before(30)) && secret.isNear(from: before(29)))
            #expect(secret.words(from: before(29)) == "ends on 2027-01-31, in 29 days")
            #expect(secret.words(from: before(-2)) == "ended on 2027-01-31")
        }
    }

    @Test("errors name missing or invalid settings, without their content")
    func faults() async throws {
        try await Senders.with(SimulatorConfiguration(), { $0.fileCheckInterval = .zero }) { senders in
            let folder = try senders.simulator.credentials.folder
            try Data("hush hush".utf8).write(to: URL(filePath: folder + "/wrong"))
            var app = senders
            app.spec.apns?.authentication = try senders.token(keyFile: folder + "/nowhere.p8")
            var error = #expect(throws: SenderError.self) { try app.sender(.apns) }
            #expect(error?.code == .unreadableFile)
            #expect(error?.message.contains("/nowhere.p8") == true)
            app.spec.apns?.authentication = try senders.token(keyFile: folder + "/wrong")
            error = #expect(throws: SenderError.self) { try app.sender(.apns) }
            #expect(error?.code == .invalid)
            app.spec.fcm?.serviceAccountFile = folder + "/wrong"
            error = #expect(throws: SenderError.self) { try app.sender(.fcm) }
            #expect(error?.message.contains("fcm.service_account_file") == true)
            #expect(error?.message.contains("hush") == false)
            app.spec.wns?.trustFile = folder + "/wrong"
            error = #expect(throws: SenderError.self) { try app.sender(.wns) }
            #expect(error?.message.contains("wns.trust_file") == true)
            app.spec.apns = senders.spec.apns
            app.spec.apns?.endpoint = "http://api.push.apple.com"
            error = #expect(throws: SenderError.self) { try app.sender(.apns) }
            #expect(error?.message.contains("apns.endpoint") == true)
            app.spec.apns = nil
            error = #expect(throws: SenderError.self) { try app.sender(.apns) }
            #expect(error?.code == .notConfigured)
            error = #expect(throws: SenderError.self) { try app.sender(.mpns) }
            #expect(error?.code == .retired)
        }
    }

    @Test("every service in use has a sender that reaches its simulator")
    func all() async throws {
        #expect(Set(Simulator.services) == Set(PushService.inService))
        try await Senders.with { senders in
            for pns in PushService.inService { _ = try senders.sender(pns) }
        }
    }

    @Test("a closed registry makes no senders, and its senders send nothing")
    func closed() async throws {
        try await Senders.with { senders in
            let sender = try senders.sender(.apns)
            await senders.registry.close()
            #expect(throws: SenderError.self) { try senders.sender(.apns) }
            #expect(try await sender.send(senders.batch(.apns, 1)) == [.unsent])
        }
    }

    @Test("a closed sender completes its batches", arguments: PushService.inService)
    func closedInProgress(pns: PushService) async throws {
        try await Senders.with { senders in
            senders.simulator.inject(SimulatorFault(.delay, pns: nil, latency: 300))
            let sender = try senders.sender(pns)
            let batch = try senders.batch(pns, 3)
            async let results = sender.send(batch)
            for _ in 0..<500 where senders.simulator.received().isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            try await Task.sleep(for: .milliseconds(50))
            await senders.registry.close()
            #expect(await results == [.accepted, .accepted, .accepted])
        }
    }
}
