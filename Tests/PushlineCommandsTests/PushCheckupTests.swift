import Foundation
import PushModel
import PushServices
import PushlineSimulator
import Testing
import Undisturbed

@testable import PushlineCommands

/// What the doctor says of credentials once push services were asked, each verdict at the simulator.
@Suite(.serialized, .timeLimit(.minutes(2)), .undisturbed) struct PushCheckupTests {
    private static func ask(
        _ spec: AppSpec,
        _ question: PushQuestion = PushQuestion(),
        patience: Duration = .seconds(10)
    ) async throws -> [Finding] {
        try await Self.ask([.default: spec], question, patience: patience)
    }

    private static func ask(
        _ apps: [AppID: AppSpec],
        _ question: PushQuestion,
        patience: Duration = .seconds(10)
    ) async throws -> [Finding] {
        var settings = SenderSettings()
        (settings.connectTimeout, settings.requestTimeout) = (patience, patience)
        let senders = SenderRegistry(settings: settings, logger: HostOptions.logger)
        let found = await PushCheckup(senders: senders).run(question, apps)
        await senders.close()
        return found
    }

    /// The only finding, of one service.
    private static func words(_ spec: AppSpec, _ pns: PushService, device: String? = nil) async throws -> String {
        let found = try await Self.ask(spec, PushQuestion(service: pns, device: device))
        #expect(found.map(\.isRight) == [false])
        #expect(found.map(\.subject) == ["default \(pns.rawValue)"])
        return found.first?.words ?? ""
    }

    // MARK: - Without a device

    @Test func credentialsThatWorkAreRightAndNobodyGetsAnything() async throws {
        try await withSimulator { simulator in
            let found = try await Self.ask(simulator.appSpec)
            #expect(found.map(\.isRight) == [true, true, true, true], "\(found)")
            #expect(found.map(\.subject) == ["default apns", "default fcm", "default wns", "default web"])
            let urls = try simulator.urls
            let tokens = try #require(try simulator.appSpec.wns?.tokenURL)
            #expect(
                found.map(\.words) == [
                    "APNs at \(urls.apns) takes the credential (of a device that does not exist: BadDeviceToken)",
                    "the token service of the service account gives a token, and \(urls.fcm) takes messages in place of FCM",
                    "\(tokens), in place of Microsoft, gives a token for client_id and its secret; "
                        + "only a real channel shows more (--device)",
                    "Web Push cannot be asked without a device (--device): the key pair can be read, and its keys belong together",
                ]
            )
            let counts = simulator.counts
            #expect([counts.apns, counts.fcm, counts.wns].map(\.requests) == [1, 1, 0])
            #expect([counts.apns, counts.fcm, counts.wns].map(\.accepted) == [0, 0, 0])
            #expect([counts.fcm, counts.wns].map(\.accessTokens) == [1, 1])
        }
    }

    @Test func aCertificateIsAskedAboutToo() async throws {
        try await withSimulator { simulator in
            var spec = try simulator.appSpec
            let credentials = try simulator.credentials
            let file = credentials.apnsCertificateFile
            spec.apns?.authentication = .certificate(.init(file: file))
            let right = try await Self.ask(spec, PushQuestion(service: .apns))
            #expect(right.map(\.isRight) == [true], "\(right)")
            var development = credentials.apnsCertificate
            development.isForProduction = false
            let issued = try credentials.issue(development)
            try Data("\(issued.certificate)\n\(issued.privateKey)".utf8).write(to: URL(filePath: file))
            let wrong = try await Self.words(spec, .apns)
            #expect(wrong.contains(": BadCertificateEnvironment (status 403); the key or certificate is for the other"))
        }
    }

    @Test(arguments: [
        ("key", "InvalidProviderToken (status 403)", "key_id, team_id and key_file do not belong together"),
        ("team", "InvalidProviderToken (status 403)", "key_id, team_id and key_file do not belong together"),
        ("com.example.other", "TopicDisallowed (status 400)", "check topic"),
        ("com.example.pushline.watch", "BadTopic (status 400)", "check topic"),
    ])
    func whatAPNsRefusesIsNamed(_ what: String, _ word: String, _ advice: String) async throws {
        try await withSimulator { simulator in
            var spec = try simulator.appSpec
            switch what {
            case "key": spec.apns?.keyID = "ANOTHER001"
            case "team": spec.apns?.teamID = "ANOTHER001"
            default: spec.apns?.topic = what
            }
            let words = try await Self.words(spec, .apns)
            #expect(words.hasPrefix("APNs refuses the credential: \(word); ") && words.contains(advice), "\(words)")
        }
    }

    @Test(arguments: [
        (
            SimulatorFault.Action.tokenEndpoint(status: 400, error: "invalid_grant"),
            "token service: invalid_grant; the key is deleted"
        ),
        (
            .tokenEndpoint(status: 401, error: "invalid_client"),
            "token service: invalid_client; Google gives this service account no"
        ),
        (
            .tokenEndpoint(status: 503, error: "unavailable"),
            "FCM does not take it now: token service: unavailable (status 503)"
        ),
        (
            .answer(reason: "PERMISSION_DENIED"),
            "status 403; A fault on purpose: PERMISSION_DENIED; the service account may not send"
        ),
        (
            .answer(reason: "SENDER_ID_MISMATCH"),
            "SENDER_ID_MISMATCH (status 403); the token is of another Firebase project"
        ),
        (.answer(reason: "NOT_FOUND"), "status 404; A fault on purpose: NOT_FOUND; there is no such project"),
        (.answer(reason: "THIRD_PARTY_AUTH_ERROR"), "Firebase has no valid APNs key"),
        (.answer(reason: "UNAVAILABLE"), "FCM does not take it now: UNAVAILABLE (status 503); ask again later"),
        (.silence, "FCM was asked, and whether it took it is not known: no answer in time; ask again later"),
    ])
    func whatFCMAndGoogleRefuseIsNamed(_ action: SimulatorFault.Action, _ expected: String) async throws {
        try await withSimulator { simulator in
            simulator.inject(SimulatorFault(action, pns: .fcm))
            let found = try await Self.ask(
                simulator.appSpec,
                PushQuestion(service: .fcm),
                patience: action == .silence ? .seconds(1) : .seconds(10)
            )
            #expect(found.map(\.isRight) == [false])
            #expect(found.first?.words.contains(expected) == true, "\(found)")
        }
    }

    /// The file of another project's service account.
    @Test func aKeyOfAnotherProjectIsRefused() async throws {
        try await withSimulator { simulator in
            let spec = try simulator.appSpec
            let (file, project) = (
                try simulator.credentials.fcmServiceAccountFile, try simulator.credentials.fcmProject
            )
            let json = try String(contentsOfFile: file, encoding: .utf8)
            let other = json.replacingOccurrences(of: "\"\(project)\"", with: "\"another\"")
            #expect(other != json)
            try Data(other.utf8).write(to: URL(filePath: file))
            let words = try await Self.words(spec, .fcm)
            let said =
                "status 403; Permission 'cloudmessaging.messages.create' denied on resource; the service account may not send"
            #expect(words.contains(said), "\(words)")
        }
    }

    @Test(arguments: [
        ("client", "invalid_client; client_id and the secret do not belong together"),
        ("scope", "invalid_scope; scope must be"),
        ("address", "status 404; check token_url"),
    ])
    func whatMicrosoftRefusesIsNamed(_ what: String, _ expected: String) async throws {
        try await withSimulator { simulator in
            var spec = try simulator.appSpec
            switch what {
            case "client": spec.wns?.clientID = "another"
            case "scope": spec.wns?.scope = "another"
            default: spec.wns?.tokenURL += "/another"
            }
            let words = try await Self.words(spec, .wns)
            #expect(words.hasPrefix("WNS refuses the credential: token service: \(expected)"), "\(words)")
            #expect(!words.contains(try simulator.credentials.wnsClientSecret))
        }
    }

    /// Nobody may listen on port 1 but the superuser.
    @Test func aServiceThatIsNotReachedIsNotCalledARefusal() async throws {
        try await withSimulator { simulator in
            var spec = try simulator.appSpec
            spec.apns?.endpoint = "https://127.0.0.1:1"
            spec.fcm?.endpoint = "https://127.0.0.1:1"
            spec.wns?.tokenURL = "https://127.0.0.1:1/token"
            let found = try await Self.ask(spec, PushQuestion())
            #expect(found.map(\.isRight) == [false, false, false, true], "\(found)")
            for (finding, title) in zip(found, ["APNs", "FCM", "WNS"]) {
                #expect(finding.words.hasPrefix("\(title) could not be asked: "), "\(finding)")
                #expect(finding.words.hasSuffix("can this host reach it (names, firewall, trust_file)?"), "\(finding)")
            }
        }
    }

    /// Its files are another finding's affair.
    @Test func aCredentialThatCannotBeReadIsNotAskedAbout() async throws {
        try await withSimulator { simulator in
            var spec = try simulator.appSpec
            spec.fcm?.serviceAccountFile = "/nowhere"
            #expect(try await Self.ask(spec, PushQuestion(service: .fcm)).isEmpty)
            let sent = try await Self.words(spec, .fcm, device: "token")
            #expect(sent.hasPrefix("nothing was sent: fcm.service_account_file: "), "\(sent)")
        }
    }

    // MARK: - With a device

    @Test(arguments: [PushService.apns, .fcm, .wns, .web])
    func aDeviceGetsANotification(_ pns: PushService) async throws {
        try await withSimulator { simulator in
            let device = try simulator.device("a-device-with-a-long-name", of: pns)
            let found = try await Self.ask(simulator.appSpec, PushQuestion(service: pns, device: device))
            #expect(found.map(\.isRight) == [true], "\(found)")
            #expect(found.first?.words.contains("took a notification for \(Handle(stored: device)): ") == true)
            #expect(found.first?.words.contains(device) == false)
            #expect(simulator.received(pns: pns).count == 1)
            #expect(simulator.received(pns: pns).first?.body.contains("pushline doctor") == true)
            #expect(simulator.counts[pns].accepted == 1)
        }
    }

    @Test(arguments: [
        (PushService.apns, "BadDeviceToken", "apps that Xcode runs"),
        (.apns, "DeviceTokenNotForTopic", "compare topic"),
        (.apns, "Unregistered", "take its new token"), (.apns, "ExpiredToken", "take its new token"),
        (.apns, "BadEnvironmentKeyIdInToken", "the other environment"), (.apns, "Forbidden", "revoked"),
        (.apns, "ExpiredProviderToken", "the clock"), (.apns, "PayloadTooLarge", "endpoint"),
        (.apns, "TooManyRequests", "ask again later"), (.apns, "ServiceUnavailable", "ask again later"),
        (.fcm, "UNREGISTERED", "take its new token"), (.fcm, "SENDER_ID_MISMATCH", "another Firebase project"),
        (.fcm, "APNS_AUTH_ERROR", "no valid APNs key"), (.wns, "Forbidden", "to another app than client_id"),
        (.wns, "Gone", "ask Windows for a new one"), (.wns, "Unauthorized", "package family name"),
        (.wns, "DomainBlocked", "blocked"), (.web, "Unsubscribed", "subscribe again"),
        (.web, "BadJwtToken", "check subject"),
    ])
    func whatIsSaidOfADeviceIsNamed(_ pns: PushService, _ reason: String, _ advice: String) async throws {
        try await withSimulator { simulator in
            simulator.inject(SimulatorFault(.answer(reason: reason), pns: pns))
            let device = try simulator.device("a-device-with-a-long-name", of: pns)
            let words = try await Self.words(simulator.appSpec, pns, device: device)
            #expect(words.hasPrefix("\(Handle(stored: device)): \(pns.descriptor.title) "), "\(words)")
            #expect(words.contains(advice), "\(words)")
            #expect(!words.contains(device))
        }
    }

    @Test func whatIsNoDeviceIsNotSentTo() async throws {
        try await withSimulator { simulator in
            let spec = try simulator.appSpec
            let other = "https://elsewhere.example/channel"
            for (pns, device) in [(PushService.apns, "not hexadecimal"), (.wns, other), (.web, "eyJ"), (.fcm, "")] {
                let words = try await Self.words(spec, pns, device: device)
                #expect(words.hasPrefix("nothing was sent: --device: "), "\(words)")
                #expect(device.isEmpty || !words.contains(device))
            }
            #expect(simulator.received().isEmpty)
        }
    }

    // MARK: - Which

    @Test func theCredentialsToAskAboutAreChosen() async throws {
        try await withSimulator { simulator in
            var spec = try simulator.appSpec
            (spec.wns, spec.web) = (nil, nil)
            let watch = try CredentialName("watch")
            spec.credentials[.apns, watch] = spec.apns
            let apps = [AppID.default: spec, try AppID("shop"): spec]
            func subjects(_ question: PushQuestion) async throws -> [String] {
                try await Self.ask(apps, question).map(\.subject)
            }
            let all = ["default apns", "default apns watch", "default fcm", "shop apns", "shop apns watch", "shop fcm"]
            #expect(try await subjects(PushQuestion()) == all)
            #expect(
                try await subjects(PushQuestion(app: AppID("shop"), service: .apns)) == [
                    "shop apns", "shop apns watch",
                ]
            )
            #expect(try await subjects(PushQuestion(credential: watch)) == ["default apns watch", "shop apns watch"])
            #expect(
                try await subjects(PushQuestion(app: .default, credential: .default)) == [
                    "default apns", "default fcm",
                ]
            )

            let none = try await Self.ask(apps, PushQuestion(app: try AppID("none")))
            #expect(none.map(\.isRight) == [false] && none[0].words.contains("declared are default apns, "))
            simulator.reset()
            let several = try await Self.ask(apps, PushQuestion(app: try AppID("shop"), device: "ab"))
            #expect(several.map(\.isRight) == [false])
            #expect(several[0].words.hasSuffix("--credential: shop apns, shop apns watch, shop fcm"))
            #expect(simulator.received().isEmpty)
        }
    }
}
