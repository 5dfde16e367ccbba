import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

/// The same over an app with the embedded hub, and over one whose hub, as an Azure hub, is a `pushline-hub` (rule 18).
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(10)), .undisturbed) struct BothHubsTests {
    // MARK: Registrations

    @Test(arguments: HubKind.allCases) func aSendArrivesOnce(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let (device, tag) = (Device(), Device.unique("tag"))
            let id = try await app.register(device, tags: [tag, "both"])
            #expect(try await app.register(device, tags: [tag, "both"]) == id)
            let audiences = [
                #"{"user":"\#(device.user)"}"#, #"{"tag":"\#(tag)"}"#, #"{"all":true}"#,
                #"{"tags":"\#(tag) && !(other || more)"}"#,
                #"{"handles":[{"service":"apns","handle":"\#(device.handle)"}]}"#,
            ]
            for audience in audiences {
                let text = Device.unique("hello")
                kind.expectAccepted(try await app.finished(try await app.send(text, to: audience)))
                try await app.expect(1, of: text, at: device)
            }
        }
    }

    @Test(arguments: HubKind.allCases) func anExpressionSelects(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let (one, two) = (Device(), Device())
            let (a, b) = (Device.unique("a"), Device.unique("b"))
            _ = try await app.register(one, tags: [a])
            _ = try await app.register(two, tags: [a, b])
            for (tags, wanted) in [
                ("\(a) && !\(b)", [1, 0]), ("\(b) || nobody", [0, 1]), ("\(a) && (\(b) || nobody)", [0, 1]),
            ] {
                let text = Device.unique("some")
                let id = try await app.send(text, to: #"{"tags":"\#(tags)"}"#)
                kind.expectAccepted(try await app.finished(id))
                for (device, count) in zip([one, two], wanted) { try await app.expect(count, of: text, at: device) }
            }
        }
    }

    @Test(arguments: HubKind.allCases) func aRegistrationThatChangesTakesItsTagsAlong(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let device = Device()
            let (old, new) = (Device.unique("old"), Device.unique("new"))
            let id = try await app.register(device, tags: [old])
            let body = #"{"service":"apns","handle":"\#(device.handle)","user":"\#(device.user)","tags":["\#(new)"]}"#
            #expect(try await app.call("PUT", "/registrations/\(id)", body: body).status == 200)
            let (never, once) = (Device.unique("never"), Device.unique("once"))
            let job = try await app.finished(try await app.send(never, to: #"{"tag":"\#(old)"}"#))
            try await kind.expectNobody(job, app)
            kind.expectAccepted(try await app.finished(try await app.send(once, to: #"{"tag":"\#(new)"}"#)))
            try await app.expect(1, of: once, at: device)
            #expect(app.pushes(of: never, to: device).isEmpty)
        }
    }

    @Test(arguments: HubKind.allCases) func whoeverIsDeregisteredGetsNothing(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let device = Device()
            let id = try await app.register(device)
            #expect(try await app.call("DELETE", "/registrations/\(id)").status == 204)
            let (first, second) = (Device.unique("first"), Device.unique("second"))
            try await kind.expectNobody(try await app.sent(first, to: device), app)
            // The same for a user who is removed.
            _ = try await app.register(device)
            let removal = try await app.call("DELETE", "/users/\(device.user)")
            #expect(removal.status == 202, "\(String(decoding: removal.body, as: UTF8.self))")
            let job = try removal.decoded(OtherApp.Accepted.self).id
            try await eventually("the user is removed") {
                let answer = try await app.call("GET", "/jobs/\(job)")
                return String(decoding: answer.body, as: UTF8.self).contains(#""state":"completed""#)
            }
            try await kind.expectNobody(try await app.sent(second, to: device), app)
            _ = try await app.register(device)
            for text in [first, second] { try await app.expect(0, of: text, at: device) }
        }
    }

    @Test(arguments: HubKind.allCases) func aDeadTokenIsPruned(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let (device, text) = (Device(), Device.unique("dead"))
            _ = try await app.register(device)
            let simulator = app.installation.simulator
            simulator.inject(SimulatorFault(.answer(reason: "Unregistered"), pns: .apns, token: device.handle))
            let job = try await app.sent(text, to: device)
            #expect(job.state == "completed" && job.totals.targets == 1 && job.totals.outcomes == 1, "\(job)")
            if kind == .embedded {
                #expect(job.totals.failed == ["unregistered": 1], "\(job)")
            } else {
                kind.expectAccepted(job)
                try await eventually("the hub tells of the token") {
                    try await app.job(job.id).hub?.calls.first?.devices == ["ExpiredChannel": 1]
                }
            }
            simulator.clearFaults()
            // A worker of its own prunes, where the devices are: in this app, or in that of the hub.
            let list = "/registrations?user=\(device.user)&state=live"
            try await eventually("the registration is pruned") {
                let answer =
                    kind == .embedded
                    ? try await app.call("GET", list) : try await app.installation.asBackend("GET", "/api\(list)")
                return answer.status == 200 && !String(decoding: answer.body, as: UTF8.self).contains(device.user)
            }
            try await kind.expectNobody(try await app.sent(Device.unique("nobody"), to: device), app)
            _ = try await app.register(device)
            try await app.expect(0, of: text, at: device)
        }
    }

    // MARK: What is sent

    @Test(arguments: HubKind.allCases) func eachServiceGetsASendInItsOwnForm(_ kind: HubKind) async throws {
        // An app with an Azure hub takes no browsers.
        let services: [PushService] = kind == .embedded ? [.apns, .fcm, .wns, .web] : [.apns, .fcm, .wns]
        try await kind.withApp(services) { app in
            let (tag, text) = (Device.unique("tag"), Device.unique("hello"))
            var devices: [Device] = []
            for pns in services {
                let device = try Device(at: pns, of: app.installation.simulator)
                try await kind.register(device, tags: [tag], by: app)
                devices.append(device)
            }
            let job = try await app.finished(try await app.send(text, to: #"{"tag":"\#(tag)"}"#))
            kind.expectAccepted(job, devices.count)
            for device in devices {
                try await eventually("\(device.pns) has it") { app.pushes(of: text, to: device).count == 1 }
                #expect(app.pushes(of: text, to: device).allSatisfy { $0.pns == device.pns })
            }
            let web = try await app.call(
                "POST",
                "/sends",
                body: #"{"to":{"tag":"\#(tag)"},"services":["web"],"body":"\#(text)"}"#
            )
            #expect(web.status == (kind == .embedded ? 202 : 422), "\(String(decoding: web.body, as: UTF8.self))")
        }
    }

    @Test(arguments: HubKind.allCases) func aNativePayloadArrivesAsItIs(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let (device, text) = (Device(), Device.unique("native"))
            _ = try await app.register(device)
            let payload = #"{"aps":{"alert":{"title":"\#(text)","body":"a \"b\" <c> 🍜"},"badge":3},"own":[1,2.5,null]}"#
            let headers = #"{"apns-collapse-id":"c-1","apns-priority":"5"}"#
            let body =
                #"{"to":{"user":"\#(device.user)"},"native":{"apns":{"payload":\#(payload),"headers":\#(headers)}}}"#
            let answer = try await app.call("POST", "/sends", body: body)
            #expect(answer.status == 202, "\(String(decoding: answer.body, as: UTF8.self))")
            kind.expectAccepted(try await app.finished(try answer.decoded(OtherApp.Accepted.self).id))
            try await app.expect(1, of: text, at: device)
            let push = try #require(app.pushes(of: text, to: device).first)
            #expect(push.body == payload)
            #expect(push.headers["apns-collapse-id"] == "c-1" && push.headers["apns-priority"] == "5")
            #expect(push.headers["apns-push-type"] == "alert", "\(push.headers)")
        }
    }

    @Test(arguments: HubKind.allCases) func aLiveActivityIsChangedByItsToken(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let (token, gate) = (Device().handle, Device.unique("gate"))
            let simulator = app.installation.simulator
            let body =
                #"{"to":{"handles":[{"service":"apns","handle":"\#(token)"}]},"liveActivity":{"event":"update","contentState":{"gate":"\#(gate)"}}}"#
            let answer = try await app.call("POST", "/sends", body: body)
            #expect(answer.status == 202, "\(String(decoding: answer.body, as: UTF8.self))")
            kind.expectAccepted(try await app.finished(try answer.decoded(OtherApp.Accepted.self).id))
            try await eventually("the activity is changed") { simulator.received(token: token).count == 1 }
            let push = try #require(simulator.received(token: token).first)
            #expect(push.status == 200 && push.body.contains(#""content-state":{"gate":"\#(gate)"}"#), "\(push)")
            #expect(push.headers["apns-push-type"] == "liveactivity" && push.headers["apns-priority"] == "5")
            let topic = try simulator.credentials.apnsTopic + ".push-type.liveactivity"
            #expect(push.headers["apns-topic"] == topic)
            // Which tags an activity has nobody knows: of a hub over a wire as of the embedded one it is 400.
            let tagged = body.replacing(#""handles":[{"service":"apns","handle":"\#(token)"}]"#, with: #""tag":"a""#)
            #expect(try await app.call("POST", "/sends", body: tagged).status == 400)
        }
    }

    @Test(arguments: HubKind.allCases) func anExistingAppSendsTextsAndRichPushes(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let installation = app.installation
            try await installation.add(users: ["ann", "ben"], to: app.name)
            let device = Device()
            _ = try await app.register(device.handle, user: "ann")
            let prefix = "/api/apps/\(app.name)/notifications"
            let text = Device.unique("text")
            let plain = try await installation.asUser(
                "ben",
                "POST",
                "\(prefix)?pns=apns&to_tag=ann",
                body: "\"\(text)\""
            )
            #expect(plain.status == 200 && plain.body.isEmpty)
            kind.expectAccepted(try await app.finished(try #require(plain.headers["pushline-job"])))
            try await eventually("it comes") {
                app.pushes(of: "From ben: \(text)", to: device).map(\.status) == [200]
            }
            for isSecure in [false, true] {
                let message = Device.unique("rich")
                let body = #"{"message":"\#(message)","secure":\#(isSecure)}"#
                let rich = try await installation.asUser("ann", "POST", prefix, body: body)
                #expect(rich.status == 200, "\(String(decoding: rich.body, as: UTF8.self))")
                kind.expectAccepted(try await app.finished(try #require(rich.headers["pushline-job"])))
                // A secure push has the number alone; the text is fetched.
                let word = isSecure ? "secureId" : message
                try await eventually("\(word) comes") { app.pushes(of: word, to: device).count == 1 }
                let push = try #require(app.pushes(of: word, to: device).first)
                #expect(push.body.contains(message) != isSecure, "\(push.body)")
                let number = try #require(push.body.firstMatch(of: /"(?:secureId|richId)":"([0-9]+)"/)).1
                let fetched = try await installation.asUser("ann", "GET", "\(prefix)/\(number)")
                #expect(fetched.status == 200, "\(push.body)")
                #expect(try await installation.asUser("ben", "GET", "\(prefix)/\(number)").status == 404)
            }
        }
    }

    @Test(arguments: HubKind.allCases) func theSameKeyIsOneSend(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let (device, text) = (Device(), Device.unique("twice"))
            _ = try await app.register(device)
            let body = #"{"to":{"user":"\#(device.user)"},"body":"\#(text)"}"#
            let headers = ["Idempotency-Key": Device.unique("key")]
            var ids: Set<String> = []
            for _ in 0..<3 {
                let answer = try await app.call("POST", "/sends", body: body, headers: headers)
                #expect([200, 202].contains(answer.status))
                ids.insert(try answer.decoded(OtherApp.Accepted.self).id)
            }
            let other = body.replacing(text, with: "other")
            #expect(try await app.call("POST", "/sends", body: other, headers: headers).status == 422)
            #expect(ids.count == 1)
            kind.expectAccepted(try await app.finished(try #require(ids.first)))
            try await app.expect(1, of: text, at: device)
        }
    }

    @Test(arguments: HubKind.allCases) func aDryRunReachesNobody(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let (device, text) = (Device(), Device.unique("dry"))
            _ = try await app.register(device)
            let body = #"{"to":{"user":"\#(device.user)"},"body":"\#(text)","dryRun":true}"#
            let answer = try await app.call("POST", "/sends", body: body)
            #expect(answer.status == 202, "\(String(decoding: answer.body, as: UTF8.self))")
            let job = try await app.finished(try answer.decoded(OtherApp.Accepted.self).id)
            #expect(job.state == "completed" && job.totals.targets == 1 && job.totals.accepted == 1, "\(job)")
            try await app.expect(0, of: text, at: device)
        }
    }

    // MARK: When it is sent

    @Test(arguments: HubKind.allCases) func aScheduledSendWaitsForItsTime(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let (device, text) = (Device(), Device.unique("late"))
            _ = try await app.register(device)
            let at = Timestamp.now.advanced(by: .seconds(2))
            let id = try await app.send(text, to: #"{"user":"\#(device.user)"}"#, at: at)
            kind.expectAccepted(try await app.finished(id))
            try await app.expect(1, of: text, at: device)
            let came = try #require(app.pushes(of: text, to: device).first).time.timeIntervalSince1970
            // The simulator's times are of milliseconds, too.
            #expect((came * 1000).rounded() >= Double(at.milliseconds))
        }
    }

    @Test(arguments: HubKind.allCases) func aCancelledSendNeverComes(_ kind: HubKind) async throws {
        try await kind.withApp { app in
            let (device, text) = (Device(), Device.unique("never"))
            _ = try await app.register(device)
            let tomorrow = Timestamp.now.advanced(by: .seconds(86_400))
            let id = try await app.send(text, to: #"{"user":"\#(device.user)"}"#, at: tomorrow)
            #expect(try await app.job(id).state == "scheduled")
            let answer = try await app.call("DELETE", "/jobs/\(id)")
            #expect([200, 202].contains(answer.status), "\(String(decoding: answer.body, as: UTF8.self))")
            let job = try await app.finished(id)
            #expect(job.state == "cancelled", "\(job)")
            #expect(job.totals.accepted == 0 && job.totals.targets == job.totals.outcomes, "\(job)")
            try await app.expect(0, of: text, at: device)
        }
    }
}
