import Payloads
import PushModel
import Testing

/// The payloads of contract/app-backend.md, byte for byte.
@Suite struct ClassicPayloadTests {
    private func text(_ content: Content, _ pns: PushService) throws -> String {
        String(decoding: try PayloadFormatter.format(content, for: pns).body, as: UTF8.self)
    }

    @Test(arguments: [
        (PushService.wns, NativePayload.Kind.toast, toastText01("From bob: hello")),
        (.apns, .alert, #"{"aps":{"alert":"From bob: hello"}}"#),
        (.fcm, .message, #"{"data":{"message":"From bob: hello"}}"#),
        (.web, .webMessage, #"{"message":"From bob: hello"}"#),
    ])
    func classicPayloadsOfEachService(pns: PushService, kind: NativePayload.Kind, body: String) throws {
        let content = Content.classic(sender: "bob", text: "hello")
        let payload = try PayloadFormatter.format(content, for: pns)
        #expect(payload.kind == kind)
        #expect(String(decoding: payload.body, as: UTF8.self) == body)
    }

    @Test func hostileClassicTextIsEscaped() throws {
        let content = Content.classic(sender: "bob", text: "\"}]}<&]]>\u{1}\r\n")
        #expect(try self.text(content, .apns) == #"{"aps":{"alert":"From bob: \"}]}<&]]>\u0001\r\n"}}"#)
        #expect(try self.text(content, .fcm) == #"{"data":{"message":"From bob: \"}]}<&]]>\u0001\r\n"}}"#)
        #expect(
            try self.text(content, .wns)
                == toastText01("From bob: &quot;}]}&lt;&amp;]]&gt;\u{FFFD}&#13;&#10;")
        )
    }

    @Test(arguments: [
        (
            PushService.apns, NativePayload.Kind.background,
            #"{"aps":{"content-available":1,"sound":""},"richId":"7","richMessage":"Check this image out!","richType":"img"}"#
        ),
        (.fcm, .message, #"{"data":{"richId":"7","richMessage":"Check this image out!","richType":"img"}}"#),
        (.wns, .raw, #"{"richId":"7","richMessage":"Check this image out!","richType":"img"}"#),
        (.web, .webMessage, #"{"richId":"7","richMessage":"Check this image out!","richType":"img"}"#),
    ])
    func richPayloadsOfEachService(pns: PushService, kind: NativePayload.Kind, body: String) throws {
        let content = Content.rich(
            .init(id: 7, message: "Check this image out!", richType: "img", isSecure: false)
        )
        let payload = try PayloadFormatter.format(content, for: pns)
        #expect(payload.kind == kind)
        #expect(String(decoding: payload.body, as: UTF8.self) == body)
    }

    @Test(arguments: [
        (PushService.apns, #"{"aps":{"content-available":1},"secureId":"2147483647"}"#),
        (.fcm, #"{"data":{"secureId":"2147483647"}}"#),
        (.wns, "2147483647"),
        (.web, #"{"secureId":"2147483647"}"#),
    ])
    func aSecurePayloadContainsOnlyItsID(pns: PushService, body: String) throws {
        let content = Content.rich(.init(id: .max, message: "private", richType: "img", isSecure: true))
        #expect(try self.text(content, pns) == body)
    }
}

private func toastText01(_ text: String) -> String {
    #"<toast><visual><binding template="ToastText01"><text id="1">"# + text + "</text></binding></visual></toast>"
}
