import HubWire
import Payloads
import PushModel
import Testing

@Suite("Forms of sends")
struct SendFormTests {
    private func batch(boundary: String, type: String, lineBreak: String = "\r\n") -> (bytes: [UInt8], type: String) {
        let lines = [
            "--\(boundary)", "Content-type: application/json", "Content-Disposition: inline; name=notification", "",
            #"{"aps":{"alert":"--x"}}"#, "--\(boundary)", "Content-Disposition: inline; name=\"devices\"",
            "Content-Type: application/json", "", #"["A","B"]"#, "--\(boundary)--", "",
        ]
        return (Array(lines.joined(separator: lineBreak).utf8), type)
    }

    @Test("A batch is read as each client writes its boundary")
    func batches() throws {
        for (body, type) in [
            self.batch(
                boundary: "nh-batch-multipart-boundary",
                type: "multipart/mixed; boundary=nh-batch-multipart-boundary"
            ),
            self.batch(
                boundary: "nh-batch-multipart-boundary",
                type: "multipart/mixed; boundary=\"nh-batch-multipart-boundary\""
            ),
            self.batch(boundary: "nh-boundary-1", type: "multipart/mixed; boundary = \"nh-boundary-1\""),
            self.batch(boundary: "x", type: "Multipart/Mixed; Boundary=x; charset=utf-8", lineBreak: "\n"),
        ] {
            let read = try DirectSendBody(reading: body, contentType: type)
            #expect(String(decoding: read.notification, as: UTF8.self) == #"{"aps":{"alert":"--x"}}"#)
            #expect(read.handles == ["A", "B"] && read.notificationType == "application/json")
        }
    }

    @Test(
        "A broken batch is refused",
        arguments: [
            "", "--b", "--b--", "--b\r\n\r\nx\r\n--b--",
            "--b\r\nContent-Disposition: inline; name=devices\r\n\r\n[\"a\"]\r\n--b--",
            "--b\r\nContent-Disposition: inline; name=notification\r\n\r\n{}\r\n--b\r\nContent-Disposition: inline; name=devices\r\n\r\n['a']\r\n--b--",
            "--b\r\nContent-Disposition: inline; name=notification\r\n\r\n{}\r\n--b\r\nContent-Disposition: inline; name=devices\r\n\r\n[]\r\n--b--",
            "--b\r\nContent-Disposition: inline; name=notification\r\n\r\n{}\r\n--b\r\nContent-Disposition: inline; name=devices\r\n\r\n[\"a\"]",
            "--b\r\n--b\r\n--b\r\n--b\r\n--b\r\n--b--", "--b\r\nno colon\r\n\r\n--b--",
        ]
    )
    func brokenBatches(text: String) {
        #expect(throws: InvalidValue.self) {
            try DirectSendBody(reading: Array(text.utf8), contentType: "multipart/mixed; boundary=b")
        }
    }

    @Test("A batch has at most 1000 handles, and a boundary")
    func batchLimits() throws {
        func body(_ count: Int) -> [UInt8] {
            let handles = JSONValue.strings((0..<count).map(String.init)).compactText
            return Array(
                "--b\r\nContent-Disposition: inline; name=notification\r\n\r\n{}\r\n--b\r\nContent-Disposition: inline; name=devices\r\n\r\n\(handles)\r\n--b--"
                    .utf8
            )
        }
        #expect(
            try DirectSendBody(reading: body(1000), contentType: "multipart/mixed; boundary=b").handles.count == 1000
        )
        #expect(throws: InvalidValue.self) {
            try DirectSendBody(reading: body(1001), contentType: "multipart/mixed; boundary=b")
        }
        #expect(throws: InvalidValue.self) { try DirectSendBody(reading: body(1), contentType: "multipart/mixed") }
        #expect(throws: InvalidValue.self) {
            try DirectSendBody(reading: body(1), contentType: "application/json; boundary=b")
        }
    }

    @Test(
        "Times are read as each client writes them",
        arguments: [
            ("2027-01-15T08:00:00", 1_800_000_000), ("2027-01-15T08:00:00.000Z", 1_800_000_000),
            ("2027-01-15'T'08:00:00", 1_800_000_000),
            ("2027-01-15T08:00+0000", 1_800_000_000), ("2027-01-15T09:00+01:00", 1_800_000_000),
            ("2027-01-15T08:00:00.1234567Z", 1_800_000_000),
        ]
    )
    func times(text: String, seconds: Int64) {
        #expect(WireTime.loose(text)?.seconds == seconds)
        #expect(WireTime.expiration(text) == seconds)
    }

    @Test("An expiry of .NET's and Java's is read, and what cannot be read is none")
    func expirations() {
        #expect(WireTime.expiration("01/15/2027 08:00:00") == 1_800_000_000)
        #expect(WireTime.expiration("01/15/2027 08:00:00 PM") == 1_800_043_200)
        #expect(WireTime.expiration("2027-01-15") == 1_799_971_200)
        #expect(WireTime.expiration("0") == 0)
        for text in ["", "tomorrow", "2027-13-01T00:00:00Z", "99999999999999", "01/15/2027 13:00:00 PM"] {
            #expect(WireTime.expiration(text) == nil)
        }
        for text in ["", "2027-01-15", "2027-02-30T00:00:00", "x"] { #expect(WireTime.loose(text) == nil) }
    }

    @Test("A payload of FCM's retired interface becomes a message")
    func legacy() throws {
        let payload = try JSONReader.read(
            Array(
                #"{"data":{"a":"b","n":1},"notification":{"title":"T","body":"B","sound":"s"},"collapse_key":"c","priority":"high","time_to_live":60}"#
                    .utf8
            )
        )
        #expect(
            try LegacyFCM.translate(payload).message.compactText
                == #"{"data":{"a":"b","n":"1"},"notification":{"title":"T","body":"B"},"android":{"notification":{"sound":"s"},"collapse_key":"c","priority":"high","ttl":"60s"}}"#
        )
        for text in [
            #"{"to":"x"}"#, #"{"registration_ids":[]}"#, "[]", #"{"notification":{"badge":"1"}}"#, #"{"data":1}"#,
            #"{"notification":{"body_loc_args":"a"}}"#, #"{"notification":{"title_loc_args":{"a":"b"}}}"#,
        ] {
            let value = try JSONReader.read(Array(text.utf8))
            #expect(throws: InvalidValue.self) { try LegacyFCM.translate(value) }
        }
    }

    @Test("What the present interface has under another name or in another form is passed on")
    func legacyCounterparts() throws {
        let payload = #"""
            {"notification":{"title":"T","image":"https://x/p.png","android_channel_id":"sales","body_loc_key":"b",\#
            "body_loc_args":"[\"a\",1]","title_loc_key":"t","title_loc_args":["x"]}}
            """#
        let translated = try LegacyFCM.translate(JSONReader.read(Array(payload.utf8)))
        let message = translated.message
        #expect(
            message.compactText
                == #"{"notification":{"title":"T","image":"https://x/p.png"},"android":{"notification":{"channel_id":"sales","body_loc_key":"b","body_loc_args":["a","1"],"title_loc_key":"t","title_loc_args":["x"]}}}"#
        )
        #expect(translated.warnings.isEmpty)
        // What the translation makes, FCM takes.
        _ = try #require(ServiceFormat.of(.fcm)?.form).read(message, of: AppSpec())
    }

    @Test("The part for Apple's devices is left out, with a warning")
    func legacyAPS() throws {
        let payload = #"{"aps":{"alert":"a"},"data":{"a":"b"}}"#
        let translated = try LegacyFCM.translate(JSONReader.read(Array(payload.utf8)))
        #expect(translated.message.compactText == #"{"data":{"a":"b"}}"#)
        #expect(translated.warnings.map(\.member) == ["aps"])
    }

    @Test("Telemetry is in the order of .NET, with no outcome of nobody")
    func telemetry() throws {
        var details = WireTelemetry(
            id: "n",
            address: "https://h/default/messages/n",
            state: .completed,
            enqueued: Timestamp(milliseconds: 1_800_000_000_000),
            body: "{\"aps\":{}}"
        )
        details.started = details.enqueued
        details.ended = details.enqueued
        details.tags = "a || b"
        details.platforms = [.apple, .fcmV1]
        details.counts = [
            (.fcmV1, [.init("Success", 2)]), (.apple, [.init("Success", 1), .init("ExpiredChannel", 3)]),
            (.windows, []),
        ]
        let tree = try XMLReader.read(details.bytes)
        #expect(
            tree.elements.map(\.name) == [
                "NotificationId", "Location", "State", "EnqueueTime", "StartTime", "EndTime", "NotificationBody",
                "Tags",
                "TargetPlatforms", "ApnsOutcomeCounts", "FcmV1OutcomeCounts",
            ]
        )
        #expect(tree.first("TargetPlatforms")?.text == "apple,fcmv1" && tree.first("State")?.text == "Completed")
        #expect(tree.first("ApnsOutcomeCounts")?.elements[1].elements.map(\.text) == ["ExpiredChannel", "3"])
    }
}
