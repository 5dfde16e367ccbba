import PushModel
import Testing

@testable import Payloads

/// What every push service's format must have, whichever services there are.
@Suite struct ServiceFormatTests {
    private static let message = Content.message(.init(title: "Sale", body: "begins", data: ["order": "7"]))

    @Test func everyServiceInUseHasAFormat() {
        #expect(ServiceFormat.all.map(\.service) == PushService.inService)
    }

    @Test(arguments: PushService.inService) func everyContentIsWritten(pns: PushService) throws {
        for (content, words) in [
            (Self.message, ["Sale", "begins", "order"]),
            (.classic(sender: "ann", text: "hello"), ["From ann: hello"]),
            (.rich(.init(id: 4711, message: "words", richType: "img", isSecure: false)), ["4711", "words"]),
            (.rich(.init(id: 4711, message: "words", richType: "img", isSecure: true)), ["4711"]),
        ] {
            let payload = try PayloadFormatter.format(content, for: pns)
            #expect(pns.descriptor.kinds.contains(payload.kind))
            let text = String(decoding: payload.body, as: UTF8.self)
            for word in words { #expect(text.contains(word), "\(text)") }
            if ServiceFormat.of(pns)?.isJSON == true { _ = try JSONReader.read(payload.body) }
        }
    }

    /// What we write for a service is a form that a sender could have given.
    @Test(arguments: PushService.inService) func itsOwnPayloadIsALegalForm(pns: PushService) throws {
        let format = try #require(ServiceFormat.of(pns))
        let written = try PayloadFormatter.format(Self.message, for: pns)
        let given =
            format.isJSON
            ? try JSONReader.read(written.body) : .string(String(decoding: written.body, as: UTF8.self))
        let form = try format.form.read(given, of: AppSpec())
        #expect(form == written)
        let content = Content.native(.init(message: nil, forms: [form]))
        #expect(try PayloadFormatter.format(content, for: pns) == written)
    }

    @Test(arguments: PushService.inService) func aFormRefusesHeadersOfOthersAndHalfCharacters(pns: PushService) throws {
        let format = try #require(ServiceFormat.of(pns))
        let written = try PayloadFormatter.format(.message(.init(body: "a\u{FFFD}")), for: pns)
        let given =
            format.isJSON
            ? try JSONReader.read(written.body) : .string(String(decoding: written.body, as: UTF8.self))
        let lost = #expect(throws: InvalidValue.self) { try format.form.read(given, of: AppSpec()) }
        #expect(lost?.member == format.form.member)
        let foreign = #expect(throws: InvalidValue.self) {
            try format.form.read(given, headers: [("Authorization", "Bearer x")], of: AppSpec())
        }
        #expect(foreign?.member == "headers.Authorization")
    }

    @Test(arguments: PushService.inService) func itsHeadersSayTheTypeOfTheContent(pns: PushService) throws {
        let payload = try PayloadFormatter.format(Self.message, for: pns)
        let headers = PushHeaders(payload, priority: .normal, keepUntil: nil, collapse: nil)
        let names = try #require(ServiceFormat.of(pns)).headers(headers, nil).map { $0.name.lowercased() }
        #expect(names.contains("content-type") && Set(names).count == names.count)
    }

    @Test(arguments: ServiceFormat.all.filter { $0.reservedNames != nil })
    func reservedNamesAreThoseOfThePattern(format: ServiceFormat) throws {
        let pattern = try Regex("^(?:\(try #require(format.reservedNames)))")
        for name in ["aps", "apsx", "from", "fromage", "message_type", "gcm", "gcm.x", "google", "googlex", "k", "GCM"]
        {
            let content = Content.message(.init(body: "b", data: [name: "v"]))
            let isTaken = (try? PayloadFormatter.format(content, for: format.service)) != nil
            #expect(isTaken == (name.prefixMatch(of: pattern) == nil), "\(name)")
        }
    }
}
