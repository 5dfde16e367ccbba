import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// Devices name one of the credentials that their app declares, or none (the default one).
@Suite(.undisturbed) struct CredentialTests {
    private static let path = "/api/registrations"

    /// An app with a credential for its watch at APNs, and one for another project at FCM.
    private static let options: Harness.Options = {
        var options = Harness.Options()
        let token = AppSpec.APNs.Token(keyFile: "/k", keyID: "K", teamID: "T")
        options.spec.apns = AppSpec.APNs {
            $0.authentication = .token(token)
            $0.topic = "com.example.app"
        }
        options.spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "/f" }
        for name in ["watch", "sandbox"] {
            guard let name = try? CredentialName(name) else { preconditionFailure(name) }
            options.spec.credentials[.apns, name] = AppSpec.APNs {
                $0.authentication = .token(token)
                $0.topic = "com.example.app.\(name)"
            }
        }
        return options
    }()

    private static func body(_ credential: String?, pns: String = "apns", handle: String = "00ff") -> String {
        let credential = credential.map { #","credential":\#($0)"# } ?? ""
        return #"{"service":"\#(pns)","handle":"\#(handle)"\#(credential)}"#
    }

    /// Its topic is that of the credential, so a service has an entry for each.
    @Test func aPreviewHasTheTopicOfEachCredential() async throws {
        try await Harness.run(Self.options) { api async throws in
            let watches = Self.body(#""watch""#, handle: "00fe") + "," + Self.body(#""watch""#, handle: "00fd")
            let body = #"{"to":{"handles":[\#(Self.body(nil)),\#(watches)]},"body":"b"}"#
            let answer = try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: body)
            let services = try #require(answer.json["services"]?.elements, "\(answer.text)")
            #expect(services.compactMap { $0["service"]?.text } == ["apns", "apns"])
            #expect(services.map { $0["credential"]?.text } == [nil, "watch"])
            let topics = services.map { $0["headers"]?["apns-topic"]?.text }
            #expect(topics == ["com.example.app", "com.example.app.watch"], "\(answer.text)")
            #expect(services.compactMap { $0["payload"]?["aps"]?["alert"]?.text } == ["b", "b"])
            #expect(services.compactMap { $0["errors"] }.isEmpty)
        }
    }

    private static func bring(_ lines: String, to api: Harness, as caller: Harness.As) async throws -> Harness.Answer {
        let headers = ["Content-Type": "application/x-ndjson"]
        return try await api.call(.post, "\(Self.path)/import", as: caller, body: lines, headers: headers)
    }

    @Test func aRegistrationNamesACredential() async throws {
        try await Harness.run(Self.options) { api async throws in
            let backend = try await api.key(.sender)
            let id = "\(Self.path)/phone-1"
            let put = try await api.call(.put, id, as: backend, body: Self.body(#""watch""#))
            #expect(put.status == 200 && put.json["credential"]?.text == "watch", "\(put.text)")
            #expect(try await api.call(.get, id, as: backend).text == put.text)
            let list = try await api.call(.get, "\(Self.path)?service=apns", as: backend)
            #expect(list.json["items"]?.elements.first?["credential"]?.text == "watch", "\(list.text)")
            let made = try await api.call(.post, Self.path, as: backend, body: Self.body(#""sandbox""#))
            #expect(made.status == 200 && made.json["credential"]?.text == "sandbox", "\(made.text)")
            let patched = try await api.call(.patch, id, as: backend, body: #"{"credential":"watch"}"#)
            #expect(patched.status == 200 && patched.json["credential"]?.text == "watch", "\(patched.text)")
            // Tags alone leave it, and the default one is named, or none is.
            let tagged = try await api.call(.patch, id, as: backend, body: #"{"tags":{"add":["x"]}}"#)
            #expect(tagged.status == 200 && tagged.json["credential"]?.text == "watch", "\(tagged.text)")
            let back = try await api.call(.patch, id, as: backend, body: #"{"credential":"default"}"#)
            #expect(back.status == 200 && back.json["credential"] == nil, "\(back.text)")
            for none in [nil, "null", #""default""#] {
                let put = try await api.call(.put, id, as: backend, body: Self.body(none))
                #expect(put.status == 200 && put.json["credential"] == nil, "\(put.text)")
            }
        }
    }

    @Test(
        arguments: [
            ("apns", #""other""#, "declared: default, sandbox, watch"), ("fcm", #""watch""#, "declared: default"),
            ("wns", #""watch""#, "declared: none"), ("apns", "7", "must be a string"),
            ("apns", #""""#, "declared: default, sandbox, watch"),
        ]
    ) func whatTheAppDoesNotDeclareIsRefused(pns: String, credential: String, words: String) async throws {
        try await Harness.run(Self.options) { api async throws in
            let backend = try await api.key(.sender)
            let handle = pns == "wns" ? "https://a.notify.windows.com/?token=1" : "00ff"
            let body = Self.body(credential, pns: pns, handle: handle)
            for (method, path) in [(HTTPRequest.Method.put, "\(Self.path)/p"), (.post, Self.path)] {
                let answer = try await api.call(method, path, as: backend, body: body)
                #expect(answer.status == 400 && answer.text.contains(words), "\(answer.text)")
                #expect(answer.text.contains("credential"))
            }
            let send = #"{"to":{"handles":[\#(body)]},"body":"b"}"#
            let answer = try await api.call(.post, "/api/sends", as: backend, body: send)
            #expect(answer.status == 400 && answer.text.contains("to.handles[0].credential"), "\(answer.text)")
            let root = try await api.key(.operator, name: "root")
            let imported = try await Self.bring(body, to: api, as: root)
            #expect(imported.json["failed"]?.number == 1, "\(imported.text)")
        }
    }

    @Test func aPatchNamesACredentialOfTheRegistrationsService() async throws {
        try await Harness.run(Self.options) { api async throws in
            let backend = try await api.key(.sender)
            let id = "\(Self.path)/phone-1"
            _ = try await api.call(.put, id, as: backend, body: Self.body(nil, pns: "fcm", handle: "t:1"))
            // FCM has none of that name, APNs has.
            let conflict = try await api.call(.patch, id, as: backend, body: #"{"credential":"watch"}"#)
            #expect(conflict.status == 409 && conflict.text.contains("watch"), "\(conflict.text)")
            let unknown = try await api.call(.patch, id, as: backend, body: #"{"credential":"other"}"#)
            #expect(unknown.status == 400 && unknown.text.contains("default, sandbox, watch"), "\(unknown.text)")
            #expect(try await api.call(.patch, id, as: backend, body: "{}").status == 400)
        }
    }

    @Test func classicAppsMayNameOne() async throws {
        try await Harness.run(Self.options) { api async throws in
            let issued = try await api.call(.post, "/api/register?handle=00ff", as: .user("alice"))
            let id = issued.text.filter { $0 != "\"" }
            let body = #"{"Platform":"apns","Handle":"00ff","Credential":"watch","Tags":[]}"#
            #expect(try await api.call(.put, "/api/register/\(id)", as: .user("alice"), body: body).status == 200)
            let shown = try await api.call(.get, "\(Self.path)/\(id)", as: .user("alice"))
            #expect(shown.json["credential"]?.text == "watch", "\(shown.text)")
            let wrong = body.replacing("watch", with: "clock")
            let refused = try await api.call(.put, "/api/register/\(id)", as: .user("alice"), body: wrong)
            #expect(refused.status == 400 && refused.text.contains("Credential"), "\(refused.text)")
        }
    }

    @Test func exportsAndImportsHaveCredentials() async throws {
        try await Harness.run(Self.options) { api async throws in
            let root = try await api.key(.operator, name: "root")
            let lines = #"{"id":"a","service":"apns","handle":"00","credential":"watch"}"# + "\n"
            let imported = try await Self.bring(lines, to: api, as: root)
            #expect(imported.json["created"]?.number == 1, "\(imported.text)")
            let exported = try await api.call(.get, "\(Self.path)/export", as: root)
            #expect(exported.text.contains(#""credential":"watch""#), "\(exported.text)")
            let again = try await Self.bring(exported.text, to: api, as: root)
            #expect(again.json["updated"]?.number == 1, "\(again.text)")
        }
    }

    /// The topic of a push is that of its device's credential: a send may state any of the app's.
    @Test(arguments: [("com.example.app", 202), ("com.example.app.watch", 202), ("com.example.app.clock", 400)])
    func aNativeSendStatesATopicOfTheApp(topic: String, status: Int) async throws {
        try await Harness.run(Self.options) { api async throws in
            let form = #"{"payload":{"aps":{"alert":"a"}},"headers":{"apns-topic":"\#(topic)"}}"#
            let body = #"{"to":{"user":"bob"},"native":{"apns":\#(form)}}"#
            let answer = try await api.call(.post, "/api/sends", as: try await api.key(.sender), body: body)
            #expect(answer.status == status, "\(answer.text)")
            #expect(status == 202 || answer.text.contains("com.example.app or com.example.app.sandbox or"))
        }
    }

    @Test func aSendToHandlesNamesCredentials() async throws {
        try await Harness.run(Self.options) { api async throws in
            let backend = try await api.key(.sender)
            let handles = #"[{"service":"apns","handle":"00"},{"service":"apns","handle":"01","credential":"watch"}]"#
            let body = #"{"to":{"handles":\#(handles)},"body":"b"}"#
            let answer = try await api.call(.post, "/api/sends", as: backend, body: body)
            #expect(answer.status == 202, "\(answer.text)")
            let id = try #require(answer.json["id"]?.text.flatMap(JobID.init))
            let job = try #require(try await api.store.job(id, app: .default))
            let page = try await api.store
                .audience(AudienceQuery(.recipients(ofJob: job.sequence), app: .default, pns: .apns, limit: 10))
            #expect(page.rows.indices.map { page.credentials[$0].name } == ["default", "watch"])
        }
    }
}
