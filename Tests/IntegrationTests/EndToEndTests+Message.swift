import Foundation
import InstallationSupport
import MessageSamples
import Payloads
import PushModel
import PushlineSimulator
import Testing

// Each member of a message by what arrived at the simulator: of browsers what was decrypted.
extension EndToEndTests {
    private static let plain = [JSONValue.Member("body", .string("B"))]
    /// Of a push itself, or of the connection.
    private static let otherHeaders = ["authorization", "apns-id", "content-length", "host", "user-agent"]

    /// A send of a job of its own, to a user with a device at each service.
    private struct Sent {
        let devices: [PushService: String]
        let begins: Date
    }

    /// A user with a device at each service, for each send.
    private func register(_ sends: [String]) async throws -> [[PushService: String]] {
        let installation = try self.installation
        let devices = try sends.map { user in
            try Dictionary(
                uniqueKeysWithValues: Simulator.services.map { ($0, try installation.simulator.device(user, of: $0)) }
            )
        }
        try await installation.importRegistrations(
            zip(sends, devices).flatMap { user, handles in
                handles.map { #"{"service":"\#($0.key.rawValue)","handle":"\#($0.value)","user":"\#(user)"}"# }
            }
        )
        return devices
    }

    /// Sends all at once, and waits until the last one arrived.
    private func deliver(_ sends: [(user: String, members: [JSONValue.Member])]) async throws -> [Sent] {
        let installation = try self.installation
        let devices = try await self.register(sends.map(\.user))
        let lines = sends.map { send in
            let to = JSONValue.Member("to", .object([.init("user", .string(send.user))]))
            return JSONValue.object([to] + send.members).compactText
        }
        let begins = Date()
        let answer = try await installation.asBackend(
            "POST",
            "/api/sends/batch",
            body: lines.joined(separator: "\n"),
            type: "application/x-ndjson"
        )
        struct Line: Decodable {
            let id: String?
            let detail: String?
        }
        let jobs = try answer.body.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(Line.self, from: Data($0))
        }
        try #require(jobs.count == sends.count)
        for (job, send) in zip(jobs, sends) {
            let id = try #require(job.id, "\(send.user): \(job.detail ?? "")")
            let totals = try await installation.finished(id).totals
            #expect(totals.targets == Simulator.services.count && totals.accepted == totals.targets, "\(send.user)")
        }
        return devices.map { Sent(devices: $0, begins: begins) }
    }

    /// What a service got: its headers, a line each, and the body, without the device.
    private func arrived(_ sent: Sent, at pns: PushService) throws -> String {
        let device = try #require(sent.devices[pns])
        let pushes = try self.installation.simulator.received(token: device)
        let push = try #require(pushes.first)
        #expect(pushes.count == 1 && (200..<300).contains(push.status), "\(pns): \(push.reason ?? "")")
        let headers = push.headers.filter { !Self.otherHeaders.contains($0.key) }
        return Self.text(headers, push.body.replacing(device, with: "DEVICE"), begins: sent.begins)
    }

    /// Headers and body as one text, with times as whole hundreds of seconds from the beginning of the send: some have passed.
    private static func text(_ headers: [String: String], _ body: String, begins: Date) -> String {
        let times = ["apns-expiration": Int(begins.timeIntervalSince1970), "x-wns-ttl": 0, "ttl": 0]
        func rounded(_ seconds: Int) -> Int { (seconds + 50) / 100 * 100 }
        let lines = headers.map { name, value in
            guard let start = times[name], let seconds = Int(value), seconds > 0 else { return "\(name): \(value)" }
            return "\(name): \(rounded(seconds - start))"
        }
        let body = body.replacing(/"ttl":"([0-9]+)s"/) { "\"ttl\":\"\(rounded(Int($0.1) ?? 0))s\"" }
        return lines.sorted().joined(separator: "\n") + "\n\(body)"
    }

    /// Each member at each service: where it has a place, it arrives there, and elsewhere nothing is otherwise than without it.
    @Test func eachMemberOfAMessageArrives() async throws {
        #expect(
            Set(MessageSample.all.map(\.name)) == Set(["title", "body", "data"] + MessageMember.all.map(\.name)),
            "each member has a sample, and no other has"
        )
        let sends = MessageSample.all.map { sample in
            let members = MessageSample.members(sample.needs.compactMap { MessageSample.named[$0] } + [sample])
            return (
                user: "member-\(sample.name)", members: Self.plain.filter { $0.name != sample.name } + members
            )
        }
        let needs = MessageSample.all.map { sample in
            let members = MessageSample.members(sample.needs.compactMap { MessageSample.named[$0] })
            return (user: "without-\(sample.name)", members: Self.plain + members)
        }
        let sent = try await self.deliver(sends + needs)
        for (index, sample) in MessageSample.all.enumerated() {
            for pns in Simulator.services {
                let with = try self.arrived(sent[index], at: pns)
                let without = try self.arrived(sent[sends.count + index], at: pns)
                for part in sample.arrives[pns] ?? [] {
                    #expect(with.contains(part) && !without.contains(part), "\(sample.name) at \(pns): \(with)")
                }
                #expect((with != without) == (sample.arrives[pns] != nil), "\(sample.name) at \(pns): \(with)")
            }
        }
    }

    /// What WNS takes in place of a toast needs no text: a badge of a silent message, and a text for the app, which goes nowhere else.
    @Test func windowsGetsABadgeOrATextAlone() async throws {
        let badge = try await self.deliver([("badge-alone", [.init("badge", .integer(7))])])[0]
        let shown = try self.arrived(badge, at: .wns)
        #expect(shown.contains("x-wns-type: wns/badge") && shown.hasSuffix("\n<badge value=\"7\"/>"), "\(shown)")

        let devices = try await self.register(["raw-alone"])[0]
        let begins = Date()
        let job = try await self.send(#"{"to":{"user":"raw-alone"},"wns":{"raw":"wake up"}}"#)
        let totals = try await self.installation.finished(job).totals
        #expect(totals.targets == 1 && totals.accepted == 1)
        let raw = try self.arrived(Sent(devices: devices, begins: begins), at: .wns)
        #expect(raw.contains("x-wns-type: wns/raw") && raw.hasSuffix("\nwake up"), "\(raw)")
    }

    /// A message of all members that can stand together: the preview shows each service's push, and a dry run makes the same one.
    @Test func theWholeMessageIsThePreviewed() async throws {
        let installation = try self.installation
        let members = MessageSample.members(MessageSample.together)
        let dry = members + [.init("dryRun", .bool(true))]
        let body = JSONValue.object([.init("to", .object([.init("user", .string("whole"))]))] + members).compactText
        let answer = try await installation.asBackend("POST", "/api/sends/preview", body: body)
        let previews = try Self.previews(answer.body, begins: Date())
        #expect(Set(previews.keys) == Set(Simulator.services))

        let sent = try await self.deliver([("whole", members)])[0]
        for pns in Simulator.services {
            let push = try self.arrived(sent, at: pns)
            #expect(push == previews[pns], "\(pns)")
        }
        let devices = try await self.register(["whole-dry"])[0]
        let begins = Date()
        let to = JSONValue.Member("to", .object([.init("user", .string("whole-dry"))]))
        let job = try await installation.finished(try await self.send(JSONValue.object([to] + dry).compactText))
        #expect(job.totals.targets == devices.count && job.totals.accepted == devices.count)
        for (pns, device) in devices {
            if pns.descriptor.validatesDryRuns {
                let push = try self.arrived(Sent(devices: devices, begins: begins), at: pns)
                #expect(push.replacing(#""validate_only":true,"#, with: "") == previews[pns])
            } else {
                #expect(installation.simulator.received(token: device).isEmpty, "\(pns)")
            }
        }
    }

    /// What a preview shows for each service, as ``arrived(_:at:)`` has it.
    private static func previews(_ body: Data, begins: Date) throws -> [PushService: String] {
        func member(_ value: JSONValue?, _ name: String) -> JSONValue? {
            guard case .object(let members)? = value else { return nil }
            return members.first { $0.name == name }?.value
        }
        guard case .array(let services)? = member(try JSONReader.read(Array(body)), "services") else { return [:] }
        return try services.reduce(into: [:]) { previews, service in
            guard case .string(let name)? = member(service, "service"), let pns = PushService(rawValue: name),
                case .object(let headers)? = member(service, "headers"), let payload = member(service, "payload")
            else { return }
            #expect(member(service, "errors") == nil)
            let lines = try headers.map { header in
                guard case .string(let value) = header.value else { throw NotAText(name: header.name) }
                return (header.name.lowercased(), value)
            }
            // A service whose payload is not JSON is shown it as a text; FCM's sender names the device before all else.
            let text = if case .string(let own) = payload { own } else { payload.compactText }
            let pushed = pns == .fcm ? #"{"message":{"token":"DEVICE","# + text.dropFirst() + "}" : text
            previews[pns] = Self.text(Dictionary(lines) { $1 }, pushed, begins: begins)
        }
    }

    private struct NotAText: Error {
        let name: String
    }
}
