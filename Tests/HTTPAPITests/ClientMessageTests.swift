import Foundation
import HTTPTypes
import Payloads
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI
@testable import PushlineClient

/// PushlineClient writes its members of a send by hand: here they are compared with those that the API takes.
@Suite(.undisturbed) struct ClientMessageTests {
    private static func members(of value: Any) -> Set<String> {
        Set(Mirror(reflecting: value).children.compactMap(\.label))
    }

    @Test func theClientHasEveryMember() {
        #expect(Self.members(of: PushNotification(to: .all)) == Set(SendBody.members))
        let own: [PushService: Any] = [
            .apns: PushNotification.APNs(), .fcm: PushNotification.FCM(), .wns: PushNotification.WNS(),
            .web: PushNotification.Web(),
        ]
        #expect(Set(own.keys) == Set(ServiceFormat.all.map(\.service)))
        for (pns, object) in own {
            #expect(Self.members(of: object) == Set(MessageMember.members(of: pns).map(\.name)), "\(pns)")
        }
        #expect(Self.members(of: LiveActivity(.start)) == Set(SendContent.ofLiveActivity.map(\.key)))
    }

    /// All that can stand together; what excludes another has a test of its own here.
    private static let whole: PushNotification = {
        var whole = PushNotification(to: .user("bob"), title: "t", body: "b", data: ["k": "v"])
        whole.subtitle = "s"
        whole.image = "https://a.test/i.png"
        whole.link = "shop://sale"
        whole.badge = 1
        whole.badgeAdd = 2
        whole.sound = "s"
        whole.category = "c"
        whole.actions = [.init(id: "yes", title: "Yes", icon: "https://a.test/y.png")]
        whole.thread = "t"
        whole.relevance = 0.5
        whole.contentAvailable = true
        whole.mutableContent = true
        whole.titleLocKey = "t"
        whole.titleLocArgs = ["a"]
        whole.subtitleLocKey = "s"
        whole.subtitleLocArgs = ["b"]
        whole.bodyLocKey = "b"
        whole.bodyLocArgs = ["c"]
        whole.apns = Self.apns
        whole.fcm = Self.fcm
        whole.wns = Self.wns
        whole.web = Self.web
        return whole
    }()

    private static var apns: PushNotification.APNs {
        var own = PushNotification.APNs()
        (own.critical, own.volume, own.targetContent, own.filterCriteria) = (true, 0.25, "t", "f")
        (own.priority, own.ttl, own.collapse) = (5, 60, "c")
        return own
    }

    private static var fcm: PushNotification.FCM {
        var own = PushNotification.FCM()
        (own.channel, own.icon, own.color, own.tag, own.clickAction) = ("c", "i", "#1a73e8", "t", "a")
        (own.visibility, own.analyticsLabel, own.directBoot) = (.secret, "l", true)
        (own.priority, own.ttl, own.collapse) = (.high, 60, "c")
        return own
    }

    private static var wns: PushNotification.WNS {
        var own = PushNotification.WNS()
        (own.scenario, own.sound, own.tag) = (.incomingCall, "ms-appx:///a.wav", "t")
        (own.priority, own.ttl) = (2, 60)
        return own
    }

    private static var web: PushNotification.Web {
        var own = PushNotification.Web()
        (own.icon, own.badge, own.tag) = ("https://a.test/i.png", "https://a.test/b.png", "t")
        (own.renotify, own.requireInteraction, own.silent) = (true, true, true)
        (own.urgency, own.ttl, own.collapse) = (.veryLow, 60, "c")
        return own
    }

    /// Those that `whole` has not, each in a message of its own.
    private static let others: [(name: String, notification: PushNotification)] = {
        func message(_ set: (inout PushNotification) -> Void) -> PushNotification {
            var notification = PushNotification(to: .user("bob"), title: "t")
            (notification.apns, notification.wns) = (.init(), .init())
            set(&notification)
            return notification
        }
        return [
            ("interruptionLevel", message { $0.interruptionLevel = .timeSensitive }),
            ("apns.silent", message { $0.apns?.silent = true }),
            ("wns.silent", message { $0.wns?.silent = true }), ("wns.tile", message { $0.wns?.tile = true }),
            ("wns.badge", message { $0.wns?.badge = .number(7) }), ("wns.raw", message { $0.wns?.raw = "r" }),
        ]
    }()

    /// The members of a job that a notification became.
    private static func kept(_ notification: PushNotification, _ api: Harness) async throws -> Set<String> {
        let body = String(decoding: try Coding.body(notification), as: UTF8.self)
        let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
        #expect(answer.status == 202, "\(answer.text)")
        let id = try #require(answer.json["id"]?.text.flatMap(JobID.init))
        guard case .send(let send)? = try await api.store.job(id, app: .default)?.work,
            case .message(let message) = send.content
        else { return [] }
        return Set((message.members?.values ?? []).map(\.name))
    }

    @Test func theServerTakesWhatTheClientWrites() async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let kept = try await Self.kept(Self.whole, api)
            let others = Self.others.map(\.name)
            #expect(kept == Set(MessageMember.all.map(\.name)).subtracting(others))
            for (name, notification) in Self.others {
                #expect(try await Self.kept(notification, api) == [name])
            }
        }
    }

    @Test(arguments: PushNotification.InterruptionLevel.allCases)
    func theServerKnowsEveryLevel(_ level: PushNotification.InterruptionLevel) async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            var notification = PushNotification(to: .user("bob"), title: "t")
            notification.interruptionLevel = level
            #expect(try await Self.kept(notification, api) == ["interruptionLevel"])
        }
    }

    @Test(arguments: LiveActivity.Event.allCases) func theServerTakesLiveActivities(_ event: LiveActivity.Event)
        async throws
    {
        var activity = LiveActivity(event, contentState: ["gate": 7], alert: ["title": "t"])
        activity.relevanceScore = 75
        activity.staleDate = .now
        activity.timestamp = .now
        switch event {
        case .start:
            activity.attributesType = "Flight"
            activity.attributes = ["no": "LH1"]
            activity.inputPushToken = true
        case .end: activity.dismissalDate = .now
        case .update: break
        }
        let token = String(repeating: "ab", count: 80)
        let notification = PushNotification(
            to: .handles([.init(service: .apns, handle: token)]),
            liveActivity: activity
        )
        let body = String(decoding: try Coding.body(notification), as: UTF8.self)
        try await Harness.run(NativeSendTests.options) { api async throws in
            let answer = try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: body)
            #expect(answer.status == 200, "\(answer.text)")
            let aps = answer.json["services"]?.elements.first?["payload"]?["aps"]
            #expect(aps?["event"]?.text == event.rawValue && aps?["relevance-score"]?.number == 75)
        }
    }
}
