import Foundation
import InstallationSupport
import NIOHTTP1
import PushModel
import RawHTTP
import Testing
import Undisturbed

/// Faults between an app and its Azure hub, a real `pushline-hub` behind what makes them: nothing is lost, nothing is sent twice, and
/// unknown is only what was answered and never heard (rule 18).
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(10)), .undisturbed) struct HubFaultsTests {
    /// What a hub has surely not taken.
    enum Refusal: CaseIterable {
        case outOfOrder, throttled, expiredToken

        fileprivate var reply: RawServer.Reply {
            switch self {
            case .outOfOrder: .answer(503)
            case .throttled: .answer(429, [("Retry-After", "1")])
            // A token so young is made anew only where the clocks differ.
            case .expiredToken: .answer(401, [("Date", Self.date(.now + 7200))])
            }
        }

        private static func date(_ date: Date) -> String {
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = .gmt
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return format.string(from: date)
        }
    }

    /// What is sent again comes with the same `TrackingId`, so that it is one notification, whichever call brings it.
    private static func expectOneNotification(_ calls: [RawServer.Request], tokens: Int) {
        #expect(calls.count == 2)
        #expect(Set(calls.map { $0.headers.first(name: "TrackingId") }).count == 1)
        // A token that has ended is not shown again.
        #expect(Set(calls.map { $0.headers.first(name: "Authorization") }).count == tokens)
    }

    @Test(arguments: Refusal.allCases) func whatWasRefusedIsSentAgain(_ refusal: Refusal) async throws {
        try await HubKind.withProxy { app, proxy, _ in
            let (device, text) = (Device(), Device.unique("again"))
            _ = try await app.register(device)
            proxy.meet(.answer(refusal.reply), with: text)
            HubKind.azure.expectAccepted(try await app.sent(text, to: device))
            try await app.expect(1, of: text, at: device)
            Self.expectOneNotification(proxy.calls(with: text), tokens: refusal == .expiredToken ? 2 : 1)
        }
    }

    /// The hub's own clock jumps, by hours more than a token lives: the hub itself refuses what it took before.
    @Test(arguments: [7200, -7200] as [Int64]) func aTokenThatEndsInMidRunIsMadeAnew(_ seconds: Int64) async throws {
        let installation = try #require(EndToEndInstallation.current)
        let clock = installation.file("\(Device.unique("clock"))")
        func jump(_ milliseconds: Int64) throws {
            // In the order of every machine that this runs on.
            let bytes = Data((0..<8).map { UInt8(truncatingIfNeeded: milliseconds >> (8 * $0)) })
            // In place: the hub has it mapped.
            if !FileManager.default.fileExists(atPath: clock.path) { try bytes.write(to: clock) }
            let file = try FileHandle(forWritingTo: clock)
            try file.write(contentsOf: bytes)
            try file.close()
        }
        try jump(0)
        try await HubKind.withProxy(environment: ["PUSHLINE_CLOCK_JUMP": clock.path]) { app, proxy, _ in
            let (device, before, after) = (Device(), Device.unique("before"), Device.unique("after"))
            _ = try await app.register(device)
            HubKind.azure.expectAccepted(try await app.sent(before, to: device))
            try jump(seconds * 1000)
            let ids = try await [
                app.send(after, to: #"{"user":"\#(device.user)"}"#),
                app.send(after, to: #"{"user":"\#(device.user)"}"#),
            ]
            for id in ids { HubKind.azure.expectAccepted(try await app.finished(id)) }
            try await app.expect(1, of: before, at: device)
            try await app.expect(2, of: after, at: device)
            let (first, calls) = (proxy.calls(with: before), proxy.calls(with: after))
            #expect(first.count == 1 && (2...4).contains(calls.count))
            // A clock that is behind takes a token for longer than it lives: that one is not made anew.
            let isTheSame =
                calls.last?.headers.first(name: "Authorization") == first.first?.headers.first(name: "Authorization")
            #expect(isTheSame == (seconds < 0))
        }
    }

    @Test func aHubThatWasNotThereGetsTheSendLater() async throws {
        try await HubKind.withProxy { app, proxy, port in
            let (device, text) = (Device(), Device.unique("there"))
            // Nobody listens at this port.
            try app.point(at: 1, proxy.hub)
            let id = try await app.send(text, to: #"{"handles":[{"service":"apns","handle":"\#(device.handle)"}]}"#)
            try await eventually("the call waits") { try await app.job(id).hub?.calls.first?.state == "waiting" }
            try app.point(at: port, proxy.hub)
            HubKind.azure.expectAccepted(try await app.finished(id))
            _ = try await app.register(device)
            try await app.expect(1, of: text, at: device)
            #expect(proxy.calls(with: text).count == 1)
        }
    }

    /// What a hub may have taken: nobody but the test knows.
    enum Loss: CaseIterable {
        case resetBefore, resetAfter, resetInTheMiddle, silence

        fileprivate var fault: FaultyProxy.Fault {
            switch self {
            case .resetBefore: .answer(.cut(after: []))
            case .resetAfter: .loseAnswer(.cut(after: []))
            // The status alone says nothing yet: the header is not whole.
            case .resetInTheMiddle: .loseAnswer(.cut(after: Array("HTTP/1.1 201 Created\r\nLocation: https".utf8)))
            case .silence: .loseAnswer(.silence)
            }
        }
    }

    @Test(arguments: Loss.allCases) func whatMayHaveBeenTakenIsUnknownAndNotSentAgain(_ loss: Loss) async throws {
        try await HubKind.withProxy { app, proxy, _ in
            let (device, text) = (Device(), Device.unique("once"))
            _ = try await app.register(device)
            proxy.meet(loss.fault, with: text)
            let job = try await app.sent(text, to: device)
            #expect(job.totals.targets == 1 && job.totals.outcomes == 1, "\(job)")
            #expect(job.totals.failed == ["unknown": 1] && job.hub?.calls.map(\.state) == ["unknown"], "\(job)")
            try await app.expect(loss == .resetBefore ? 0 : 1, of: text, at: device)
            #expect(proxy.calls(with: text).count == 1)
        }
    }

    /// Many sends while every third call meets something: the sums add up, and as many are unknown as answers were lost.
    @Test func aRunWithFaultsAddsUp() async throws {
        try await HubKind.withProxy { app, proxy, _ in
            let (device, word) = (Device(), Device.unique("run"))
            _ = try await app.register(device)
            let faults: [FaultyProxy.Fault] = [
                .answer(.answer(503)), .loseAnswer(.cut(after: [])), .answer(.answer(429, [("Retry-After", "1")])),
                .answer(.cut(after: [])), .loseAnswer(.answer(504)), .answer(Refusal.expiredToken.reply),
            ]
            let texts = (0..<18).map { "\(word)-\($0)." }
            for (number, fault) in faults.enumerated() { proxy.meet(fault, with: texts[3 * number]) }
            let ids = try await withThrowingTaskGroup(of: String.self) { group in
                for text in texts {
                    group.addTask { try await app.send(text, to: #"{"user":"\#(device.user)"}"#) }
                }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            var (accepted, failed) = (0, [String: Int]())
            for id in ids {
                let job = try await app.finished(id)
                #expect(job.totals.targets == 1 && job.totals.outcomes == 1, "\(job)")
                accepted += job.totals.accepted
                failed.merge(job.totals.failed, uniquingKeysWith: +)
            }
            // Three answers were lost, one of them of a call that had not come to the hub.
            #expect(accepted == 15 && failed == ["unknown": 3], "\(failed)")
            try await eventually("all that the hub took comes") { app.pushes(of: word, to: device).count == 17 }
            for (number, text) in texts.enumerated() {
                let expected = number == 9 ? 0 : 1
                #expect(app.pushes(of: text, to: device).count == expected, "\(text)")
            }
        }
    }
}
