import PushModel
import Testing

@Suite struct HandleTests {
    @Test(arguments: [
        "00ff", "ABCDEF0123456789", String(repeating: "aB", count: 32), String(repeating: "a", count: 400),
    ])
    func tokensOfAPNs(text: String) throws {
        #expect(try Handle(text, pns: .apns).text == text.lowercased())
        #expect(try Handle(text, pns: .apns) == Handle(text.lowercased(), pns: .apns))
    }

    @Test(arguments: [
        "", "abc", "<0a0b>", "0a 0b", "0x0a", "{LENGTH=32,BYTES=0XD3A1}", "{length = 32, bytes = 0xd3a1 ... }", "zz",
        "00\n", "ａｂ", String(repeating: "a", count: 402), String(repeating: "a", count: 3000),
    ])
    func noTokensOfAPNs(text: String) {
        #expect(throws: InvalidValue.self) { try Handle(text, pns: .apns) }
    }

    @Test func printedDataObjectIsExplained() {
        let error = #expect(throws: InvalidValue.self) { try Handle("{LENGTH=32,BYTES=0XD3A1}", pns: .apns) }
        #expect(error?.reason.contains("iOS 13") == true)
        #expect(error?.reason.contains("D3A1") == false)
    }

    @Test(arguments: [
        "cX:APA91b_-9", "a", String(repeating: "x", count: 2048), "fid:c\(String(repeating: "a", count: 19))-_",
    ]) func tokensOfFCM(text: String) throws {
        #expect(try Handle(text, pns: .fcm).text == text)
    }

    @Test(arguments: [
        "", "a b", "é", "a\u{0}", "a\r\n", String(repeating: "x", count: 2049), "fid:", "fid:abc",
        "fid:\(String(repeating: "c", count: 23))", "fid:c\(String(repeating: "a", count: 19)).:",
    ])
    func noTokensOfFCM(text: String) {
        #expect(throws: InvalidValue.self) { try Handle(text, pns: .fcm) }
    }

    /// A channel is not a device: it can be sent to, and not registered.
    @Test(arguments: ["dHN0LXNyY2gtY2hubA==", "YQ", "+/9=", "abcd", String(repeating: "x", count: 2048)])
    func channelsOfAPNs(text: String) throws {
        #expect(try APNsChannelID(text).handle.text == text)
        #expect(throws: InvalidValue.self) { try Handle("dHN0LXNyY2gtY2hubA==", pns: .apns) }
    }

    @Test(arguments: [
        "", "=", "==", "a===", "a=b", "a b", "a\r\nx: y", "é", "a-b", "a_b", String(repeating: "x", count: 2049),
    ])
    func noChannelsOfAPNs(text: String) {
        #expect(throws: InvalidValue.self) { try APNsChannelID(text) }
    }

    @Test(arguments: [
        "https://db5.notify.windows.com/?token=AwYAAAB", "https://a.b.notify.windows.com/w/?token=%2b%3d",
        "HTTPS://DB5.Notify.Windows.COM/?token=x", "https://db5.notify.windows.com",
        "https://db5.notify.windows.com?token=x",
    ])
    func channels(text: String) throws {
        #expect(try Handle(text, pns: .wns).text == text)
    }

    /// The app's bearer token is sent to the channel's host: a forged one must not pass.
    @Test(arguments: [
        "", "db5.notify.windows.com", "http://db5.notify.windows.com/", "ftp://db5.notify.windows.com/",
        "https://notify.windows.com/", "https://evilnotify.windows.com/", "https://evil.com/.notify.windows.com",
        "https://evil.com?.notify.windows.com", "https://evil.com#.notify.windows.com",
        "https://evil.com\\.notify.windows.com", "https://a.notify.windows.com\\@evil.com/",
        "https://a.notify.windows.com/\\", "https://a.notify.windows.com.evil.com/", "https://x@evil.com",
        "https://a.notify.windows.com@evil.com/", "https://evil.com@a.notify.windows.com/",
        "https://notify.windows.com:443@evil", "https://a.notify.windows.com:443/", "https://[::1].notify.windows.com/",
        "https://evil.com%2f.notify.windows.com/", "https://evil.com;.notify.windows.com/",
        "https:///a.notify.windows.com/",
        "https:a.notify.windows.com/", "https://a.notify.windows.com /", "https://evil.com\t.notify.windows.com/",
        "https://éa.notify.windows.com/", " https://a.notify.windows.com/", "https://a.notify.windows.com./",
        "https://.notify.windows.com/", "https://a..notify.windows.com/", "javascript://a.notify.windows.com/",
    ])
    func forgedChannels(text: String) {
        #expect(throws: InvalidValue.self) { try Handle(text, pns: .wns) }
        #expect(throws: InvalidValue.self) {
            try Handle(text, pns: .wns, channelPrefixes: ["", "https://127.0.0.1:8443"])
        }
    }

    @Test(arguments: [
        ("https://127.0.0.1:8443/?token=x", "https://127.0.0.1:8443", true),
        ("https://127.0.0.1:8443?token=x", "https://127.0.0.1:8443", true),
        ("https://127.0.0.1:8443", "https://127.0.0.1:8443", true),
        ("https://127.0.0.1:8443/ch/abc", "https://127.0.0.1:8443/ch/", true),
        ("https://127.0.0.1:8443/?token=abc", "https://127.0.0.1:8443/?token=", true),
        ("https://127.0.0.1:84430/", "https://127.0.0.1:8443", false),
        ("https://127.0.0.1:8443@evil.com/", "https://127.0.0.1:8443", false),
        ("https://127.0.0.1.evil.com/", "https://127.0.0.1", false),
        ("https://127.0.0.1:8443\\@evil.com/", "https://127.0.0.1:8443", false),
        ("https://127.0.0.1:8444/", "https://127.0.0.1:8443", false),
    ])
    func channelPrefixes(text: String, prefix: String, isTaken: Bool) {
        #expect((try? Handle(text, pns: .wns, channelPrefixes: [prefix])) == (isTaken ? Handle(stored: text) : nil))
    }

    @Test func mpns() throws {
        let channel = "http://am3.notify.live.net/throttledthirdparty/01.00/x"
        #expect(try Handle(channel, pns: .mpns).text == channel)
        #expect(throws: InvalidValue.self) { try Handle("http://evil.com/.notify.live.net", pns: .mpns) }
    }

    @Test func errorsAndPrintsHideTheHandle() throws {
        let secret = "https://evil.com/secret-part-of-a-token"
        let error = #expect(throws: InvalidValue.self) { try Handle(secret, pns: .wns) }
        #expect(error?.description.contains("secret") == false)
        #expect("\(try Handle("0123456789abcdef", pns: .apns))" == "0123…cdef")
        #expect("\(try Handle("0123456789ab", pns: .apns))" == "…")
    }

    @Test func lookupForms() {
        #expect(Handle.lookupForms(of: "ABCD").map(\.text) == ["ABCD", "abcd"])
        #expect(Handle.lookupForms(of: "abcd").map(\.text) == ["abcd"])
    }

    @Test func handleList() {
        let handles = ["", "a", "", "bcd"].map(Handle.init(stored:))
        let list = HandleList(handles)
        #expect(list.count == 4)
        #expect((0..<4).map { list.handle(at: $0) } == handles)
    }
}
