import HubWire
import Payloads
import PushModel
import WorkCost

extension CostTests {
    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
    private static let accent = "\u{301}"

    // MARK: Templates

    /// Values that cost more than they show.
    private static let values = [
        "a": "a" + String(repeating: "\u{301}", count: 4000) + "b", "b": String(repeating: "👩‍👩‍👧", count: 300),
        "c": String(repeating: "🇩", count: 1000) + "x", "n": "123456789",
    ]

    private static func template(
        _ name: String,
        isTaken: Bool = true,
        _ make: @escaping @Sendable (Int) -> [UInt8]
    ) -> DearInput {
        DearInput("a template, \(name)", isTaken: isTaken, make) { bytes in
            let template = try HubTemplate(Self.text(bytes), isRaw: true)
            _ = try template.filled(TemplateProperties(Self.values))
        }
    }

    static let templates: [DearInput] = [
        Self.template("clipped accents") { DearInput.fill($0, ".(a,1)+", between: "{", and: "'x'}") },
        Self.template("clipped families") { DearInput.fill($0, ".(b,3)+", between: "{", and: "'x'}") },
        Self.template("clipped flags") { DearInput.fill($0, ".(c,3)+", between: "{", and: "'x'}") },
        Self.template("defaults with accents") { size in
            DearInput.fill(size, ".(z:{a\(String(repeating: Self.accent, count: 30))b},1)+", between: "{", and: "'x'}")
        },
        Self.template("whole values", isTaken: false) { DearInput.fill($0, "$(a)+", between: "{", and: "'x'}") },
        Self.template("members") { DearInput.number($0, between: "{", and: "}") { "\"m\($0)\":\".(a,1)\"" } },
        Self.template("numbers") { DearInput.number($0, between: "{", and: "}") { "\"m\($0)\":\"#(n)\"" } },
        Self.template("elements") { DearInput.fill($0, "<a b=\".(a,1)\"/>", between: "<r>", and: "</r>") },
        Self.template("accents in quotes") { DearInput.fill($0, Self.accent, between: "{'a", and: "'}") },
        Self.template("quotes") { DearInput.fill($0, "''", between: "{'", and: "'}") },
        Self.template("a quote without an end", isTaken: false) { DearInput.fill($0, Self.accent, between: "{'a") },
        Self.template("backslashes") { DearInput.fill($0, "\\\\", between: "$(z:{", and: "})") },
        DearInput("properties, accents") {
            DearInput.fill($0, Self.accent, between: "{\"a\":\"a", and: "\"}")
        } read: { bytes in
            let properties = try TemplateProperties(reading: bytes)
            let template = try HubTemplate("{.(a,1)+.(a,2)+.(a,3)+$(A,1)}", isRaw: true)
            _ = try template.filled(properties)
        },
        DearInput("properties, names with accents") { size in
            DearInput.number(size, between: "{", and: "}") {
                "\"a\(String(repeating: Self.accent, count: 20))\($0)\":\"\""
            }
        } read: { bytes in
            _ = try TemplateProperties(reading: bytes)
        },
    ]

    // MARK: Requests

    static let requests: [DearInput] = [
        DearInput("a registration, many tags", isTaken: false) { size in
            let tags = Self.text(DearInput.number(size) { "t\($0)" })
            return Self.registration("<Tags>\(tags)</Tags>")
        } read: { bytes in
            let registration = try WireRegistration(reading: bytes)
            _ = try WireTags.tags(registration.tags, .folded)
        },
        DearInput("a registration, many elements", isTaken: false) { size in
            Self.registration(String(repeating: "<x/>", count: size / 4))
        } read: { bytes in
            _ = try WireRegistration(reading: bytes)
        },
        DearInput("an installation, many tags") { size in
            DearInput.number(
                size,
                between: "{\"platform\":\"apns\",\"pushChannel\":\"AB\",\"tags\":[",
                and: "]}"
            ) { "\"t\($0)\"" }
        } read: { bytes in
            _ = try WireInstallation(reading: bytes, id: "i")
        },
        DearInput("an installation, many variables") { size in
            DearInput.number(
                size,
                between: "{\"platform\":\"apns\",\"pushChannel\":\"AB\",\"pushVariables\":{",
                and: "}}"
            ) { "\"v\($0)\":\"\"" }
        } read: { bytes in
            _ = try WireInstallation(reading: bytes, id: "i")
        },
        DearInput("an installation, unknown members") { size in
            DearInput.number(size, between: "{\"platform\":\"apns\",\"pushChannel\":\"AB\",", and: "}") {
                "\"é\($0)\":0"
            }
        } read: { bytes in
            _ = try WireInstallation(reading: bytes, id: "i")
        },
        DearInput("a patch, long tags again and again") { size in
            // As long as a tag may be, and not more steps than a patch may have.
            let tag = String(repeating: "t", count: Tag.maximumLength - 2)
            return DearInput.number(size * 9 / 10, between: "[", and: "]") { index in
                let name = "\(tag)\(10 + index % 15)"
                return index < 15
                    ? "{\"op\":\"add\",\"path\":\"/tags/-\",\"value\":\"\(name)\"}"
                    : "{\"op\":\"remove\",\"path\":\"/tags/\(name)\"}"
            }
        } read: { bytes in
            let patch = try InstallationPatch(reading: bytes)
            _ = patch.tagsAlone
            var installation = WireInstallation(id: "i", platform: .apple, pushChannel: "AB")
            try patch.apply(to: &installation)
        },
        DearInput("a patch, a long path", isTaken: false) {
            DearInput.fill($0, "/~1", between: "[{\"op\":\"add\",\"path\":\"", and: "\",\"value\":\"\"}]")
        } read: { bytes in
            var installation = WireInstallation(id: "i", platform: .apple, pushChannel: "AB")
            try InstallationPatch(reading: bytes).apply(to: &installation)
        },
        DearInput("a batch, boundaries that are none", isTaken: false) {
            DearInput.fill($0, "--" + String(repeating: "b", count: 99) + "c", between: "--")
        } read: { bytes in
            _ = try DirectSendBody(
                reading: bytes,
                contentType: "multipart/mixed; boundary=\(String(repeating: "b", count: 100))"
            )
        },
        DearInput("a batch, a long header", isTaken: false) {
            DearInput.fill($0, "name ", between: "--b\r\nContent-Disposition: ", and: "\r\n\r\n--b--")
        } read: { bytes in
            _ = try DirectSendBody(reading: bytes, contentType: "multipart/mixed; boundary=b")
        },
        DearInput("legacy FCM, many members") { size in
            DearInput.number(size, between: "{\"data\":{", and: "}}") { "\"m\($0)\":[0]" }
        } read: { bytes in
            _ = try LegacyFCM.translate(JSONReader.read(bytes))
        },
    ]

    private static func registration(_ content: String) -> [UInt8] {
        let body =
            "<AppleRegistrationDescription xmlns=\"\(WireNames.connect)\">\(content)<DeviceToken>AB</DeviceToken></AppleRegistrationDescription>"
        return Array(
            "<entry xmlns=\"\(WireNames.atom)\"><content type=\"application/xml\">\(body)</content></entry>".utf8
        )
    }

    // MARK: Headers and addresses

    static let headers: [DearInput] = [
        DearInput("a filter, a long value", isTaken: false) {
            DearInput.fill($0, "a", between: "ChannelUri eq '", and: "'")
        } read: { bytes in
            _ = try HandleFilter(Self.text(bytes))
        },
        DearInput("a filter, quotes without an end", isTaken: false) {
            DearInput.fill($0, "''", between: "ChannelUri eq '")
        } read: { bytes in
            _ = try HandleFilter(Self.text(bytes))
        },
        DearInput("a filter, accents", isTaken: false) {
            DearInput.fill($0, Self.accent, between: "ChannelUri eq 'a", and: "'")
        } read: { bytes in
            _ = try HandleFilter(Self.text(bytes))
        },
        DearInput("a filter, blanks", isTaken: false) {
            DearInput.fill($0, " ", between: "ChannelUri", and: "eq 'a' and x")
        } read: { bytes in
            _ = try HandleFilter(Self.text(bytes))
        },
        DearInput("a token, many fields", isTaken: false) {
            DearInput.number(min($0, 8000), between: "SharedAccessSignature ", by: "&") { "a\($0)=1" }
        } read: { bytes in
            if SASToken(header: Self.text(bytes)) == nil { throw FuzzedParser.Broken("no token") }
        },
        DearInput("a token, accents", isTaken: false) {
            DearInput.fill(min($0, 8000), Self.accent, between: "SharedAccessSignature sr=a&sig=a&skn=a&se=1&x=")
        } read: { bytes in
            if SASToken(header: Self.text(bytes)) == nil { throw FuzzedParser.Broken("no token") }
        },
        DearInput("the address of a token, a long path") {
            DearInput.fill(
                min($0, 8000),
                "%2f",
                between: "SharedAccessSignature sig=AAAA&skn=a&se=1&sr=https%3a%2f%2fh"
            )
        } read: { bytes in
            guard let token = SASToken(header: Self.text(bytes)) else { throw FuzzedParser.Broken("no token") }
            _ = token.covers(authority: "h", path: String(repeating: "/", count: bytes.count))
        },
        DearInput("a connection string, many parts", isTaken: false) {
            DearInput.number($0, by: ";") { "a\($0)=1" }
        } read: { bytes in
            _ = try ConnectionString(Self.text(bytes))
        },
        DearInput("a subscription, many members", isTaken: false) { size in
            Array(Base64URL.encode(DearInput.number(size * 3 / 4, between: "{", and: "}") { "\"m\($0)\":0" }).utf8)
        } read: { bytes in
            _ = try WebPushSubscription(handle: Self.text(bytes))
        },
        DearInput("a media type, blanks", isTaken: false) {
            DearInput.fill($0, "boundary ", between: "multipart/mixed; ")
        } read: { bytes in
            _ = try DirectSendBody(reading: [], contentType: Self.text(bytes))
        },
        DearInput("percent-encoding") {
            DearInput.fill($0, "%41")
        } read: { bytes in
            if PercentCoding.decode(Self.text(bytes)[...], plusIsSpace: true) == nil {
                throw FuzzedParser.Broken("none")
            }
        },
        DearInput("a time, digits", isTaken: false) {
            DearInput.fill($0, "1", between: "2027-01-01T00:00:00.", and: "Z")
        } read: { bytes in
            if Timestamp(loose: Self.text(bytes)) == nil { throw FuzzedParser.Broken("no time") }
        },
    ]
}
