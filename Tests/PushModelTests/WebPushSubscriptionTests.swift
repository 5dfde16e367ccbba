import Crypto
import Foundation
import Testing

@testable import PushModel

@Suite struct WebPushSubscriptionTests {
    /// The browser of RFC 8291, appendix A.
    static let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let secret = "BTBZMqHH6r4Tts7J_aSIgg"

    static func handle(
        _ endpoint: String = "https://fcm.googleapis.com/fcm/send/abc:APA91",
        key: String = key,
        secret: String = secret
    ) -> String {
        Base64URL.encode(
            JSONValue.members([
                "endpoint": .string(endpoint), "p256dh": .string(key), "auth": .string(secret),
            ]).bytes
        )
    }

    @Test(arguments: [
        "https://fcm.googleapis.com/fcm/send/abc:APA91b_-", "https://jmt17.google.com/fcm/send/abc:APA91b_-",
        "https://updates.push.services.mozilla.com/wpush/v2/gAAA_-=",
        "https://web.push.apple.com/QO-x", "https://db5p.notify.windows.com/w/?token=BQ%2b%3d",
    ])
    func browsersAreTaken(endpoint: String) throws {
        let handle = try Handle(Self.handle(endpoint), pns: .web)
        #expect(try WebPushSubscription(handle: handle.text).endpoint.url == endpoint)
        #expect(handle.text == Self.handle(endpoint))
    }

    /// One device, however its subscription is written.
    @Test func aSubscriptionHasOneHandle() throws {
        let padded = { (text: String) in
            text.replacing("-", with: "+").replacing("_", with: "/")
                + String(repeating: "=", count: (4 - text.count % 4) % 4)
        }
        let endpoint = "https://fcm.googleapis.com/fcm/send/abc:APA91"
        let texts = [
            #"{"endpoint":"\#(endpoint)","expirationTime":null,"keys":{"p256dh":"\#(Self.key)","auth":"\#(Self.secret)"}}"#,
            #"{"auth":"\#(padded(Self.secret))", "p256dh":"\#(padded(Self.key))", "endpoint":"\#(endpoint)"}"#,
            #"{"endpoint":"HTTPS://FCM.googleapis.com:443/fcm/send/abc:APA91","p256dh":"\#(Self.key)","auth":"\#(Self.secret)"}"#,
        ]
        for text in texts {
            let given = Base64URL.encode(Array(text.utf8))
            #expect(try Handle(given, pns: .web).text == Self.handle(), "\(text)")
            #expect(try Handle(padded(given), pns: .web).text == Self.handle(), "\(text)")
            #expect(Handle.lookupForms(of: given).contains(Handle(stored: Self.handle())))
        }
    }

    /// The endpoint is the browser, and the keys are not: of every length, since three bytes are four characters of a handle.
    @Test(arguments: 0..<9)
    func anEndpointIsOneDevice(length: Int) throws {
        let endpoint = "https://fcm.googleapis.com/" + String(repeating: "a", count: length)
        let devices = try (0..<20).map { _ in
            let key = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
            let secret = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
            let text = Self.handle(endpoint, key: Base64URL.encode(key), secret: Base64URL.encode(secret))
            return try Handle(text, pns: .web)
        }
        let range = devices[0].sameDevice(at: .web)
        #expect(Set(devices).count == 20)
        #expect(Set(devices.map { $0.sameDevice(at: .web) }) == [range])
        #expect(devices.allSatisfy { range.contains($0.text) })
        // Endpoints that begin as this one, or that this one begins as, are others'.
        for other in ["a", "aa", "aaa", "%22", "?"].map({ endpoint + $0 }) + [String(endpoint.dropLast())] {
            let handle = try Handle(Self.handle(other), pns: .web)
            #expect(!range.contains(handle.text) && !handle.sameDevice(at: .web).contains(devices[0].text), "\(other)")
        }
        // At other services the text alone counts.
        #expect(devices[0].sameDevice(at: .fcm) == devices[0].text...devices[0].text)
    }

    /// Messages go to the endpoint from within the operator's network.
    @Test(arguments: [
        "http://fcm.googleapis.com/x", "ftp://fcm.googleapis.com/", "//fcm.googleapis.com/x", "fcm.googleapis.com/x",
        "https://evil.com/", "https://evil.com/fcm.googleapis.com", "https://fcm.googleapis.com.evil.com/",
        "https://fcm.googleapis.com@evil.com/", "https://user@fcm.googleapis.com/",
        "https://user:x@fcm.googleapis.com/",
        "https://fcm.googleapis.com:8443/x", "https://fcm.googleapis.com:/x", "https://fcm.googleapis.com:443:443/x",
        "https://fcm.googleapis.com:+443/x", "https://fcm.googleapis.com:0443443/x",
        "https://fcm.googleapis.com\\@evil.com/",
        "https://evil.com\\.push.apple.com/", "https://evil.com#.push.apple.com/", "https://evil.com?.push.apple.com/",
        "https://.push.apple.com/", "https://push.apple.com/", "https://a..push.apple.com/",
        "https://web.push.apple.com./x",
        "https://evilpush.apple.com/", "https://127.0.0.1/", "https://10.0.0.1/x", "https://169.254.169.254/latest",
        "https://localhost/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://2130706433/", "https://0x7f.1/",
        "https:///x", "https://", "https://fcm.googleapis.com/a b", "https://fcm.googleapis.com/\r\nHost: evil.com",
        "https://fcm.googleapis.com/é", "https://ｆcm.googleapis.com/", "https://fcm.googleapis.com/x#y",
        "https://fcm.googleapis.com/" + String(repeating: "x", count: 1000),
    ])
    func endpointsElsewhereAreRefused(endpoint: String) {
        let error = #expect(throws: InvalidValue.self) { try Handle(Self.handle(endpoint), pns: .web) }
        #expect(error?.reason.contains("evil") == false)
    }

    @Test func wrongKeysAreRefused() throws {
        let key = try #require(Base64URL.decode(Self.key))
        var offCurve = key
        offCurve[64] ^= 1
        let keys = [
            Base64URL.encode(offCurve), Base64URL.encode(key.dropLast()), Base64URL.encode(key + [0]),
            Base64URL.encode([2] + key[1..<33]), Base64URL.encode([4] + [UInt8](repeating: 0, count: 64)), "", "=", "é",
        ]
        for wrong in keys {
            #expect(throws: InvalidValue.self, "\(wrong)") { try Handle(Self.handle(key: wrong), pns: .web) }
        }
        for wrong in ["", "AAAA", Self.secret + "AA", "!!"] {
            #expect(throws: InvalidValue.self, "\(wrong)") { try Handle(Self.handle(secret: wrong), pns: .web) }
        }
    }

    @Test(arguments: [
        "", "{", "eyJ", "null", "[]", #"{"endpoint":"https://fcm.googleapis.com/"}"#, #"{"endpoint":5}"#,
        #"{"endpoint":"https://fcm.googleapis.com/","endpoint":"https://fcm.googleapis.com/","p256dh":"\#(Self.key)","auth":"\#(Self.secret)"}"#,
        #"{"endpoint":"https://fcm.googleapis.com/","keys":{"p256dh":"\#(Self.key)","p256dh":"\#(Self.key)","auth":"\#(Self.secret)"}}"#,
    ])
    func otherTextsAreRefused(text: String) {
        #expect(throws: InvalidValue.self) { try Handle(text, pns: .web) }
        #expect(throws: InvalidValue.self) { try Handle(Base64URL.encode(Array(text.utf8)), pns: .web) }
    }

    @Test func anAppNamesTheHostsItSendsTo() throws {
        var spec = AppSpec()
        let handle = Self.handle("https://127.0.0.1:8443/web/a")
        #expect(throws: InvalidValue.self) { try spec.handle(handle, of: .web) }
        spec.web = AppSpec.WebPush {
            $0.publicKey = Self.key
            $0.privateKeyFile = "/k"
            $0.subject = "mailto:a@example.com"
            $0.endpointHosts = ["127.0.0.1:8443", "*.example.com"]
        }
        #expect(try spec.handle(handle, of: .web).text == handle)
        #expect(try spec.handle(Self.handle("https://a.example.com/"), of: .web).text.isEmpty == false)
        for other in [
            "https://127.0.0.1/", "https://127.0.0.1:84433/", "https://example.com/", "https://fcm.googleapis.com/x",
        ] {
            #expect(throws: InvalidValue.self, "\(other)") { try spec.handle(Self.handle(other), of: .web) }
        }
        for wrong in ["", "*", "*.", "https://a.com", "a.com/x", "a b", "*.*.com", "a.com:99999", "u@a.com"] {
            #expect(throws: InvalidValue.self, "\(wrong)") { try WebPushHosts([wrong]) }
        }
    }

    @Test func aPlaceStandsInForAHost() throws {
        let places = try ConnectTo(["Push.example.com=127.0.0.1:8443", "other.example.com=10.0.0.2"])
        #expect(places["push.example.com"] == ConnectTo.Place(address: "127.0.0.1", port: 8443))
        #expect(places["other.example.com"] == ConnectTo.Place(address: "10.0.0.2", port: 443))
        #expect(places["example.com"] == nil)
        let wrong = [
            "", "=", "a.com", "a.com=", "=127.0.0.1:1", "a.com=b.com:1", "a.com=127.0.0.1:0", "a.com=127.0.0.1:1/x",
            "a.com=127.0.0.1=1", "*.a.com=127.0.0.1:1", "a.com:443=127.0.0.1:1", "a.com=[::1]:1",
            "10.0.0.1=127.0.0.1:1",
        ]
        for text in wrong { #expect(throws: InvalidValue.self, "\(text)") { try ConnectTo([text]) } }
        #expect(throws: InvalidValue("a.com is mapped to two addresses")) {
            try ConnectTo(["a.com=127.0.0.1:1", "A.com=127.0.0.1:2"])
        }
    }

    @Test func publicAddressesAreKnown() throws {
        for text in ["8.8.8.8", "142.250.1.95", "2a00:1450:4001::a", "::ffff:8.8.8.8", "64:ff9b::808:808"] {
            #expect(try #require(IPAddress(text)).isPublic, "\(text)")
        }
        let special = [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1", "198.18.0.1", "192.0.2.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
            "::127.0.0.1", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1", "2002:7f00:1::",
            "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1",
        ]
        for text in special { #expect(try #require(IPAddress(text)).isPublic == false, "\(text)") }
        #expect(try #require(IPAddress("172.32.0.1")).isPublic)
        #expect(try #require(IPAddress("11.0.0.1")).isPublic)
    }
}
