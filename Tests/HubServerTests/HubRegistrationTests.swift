import HTTPTypes
import HubWire
import PushModel
import Store
import Testing
import Undisturbed

@Suite("Registrations through a hub", .undisturbed)
struct HubRegistrationTests {
    @Test("An id is 201 with an absolute Location; a registration under it is 200, and can be read at once")
    func lifecycle() async throws {
        try await HubHarness.run { hub in
            let issued = try await hub.call(.post, "/default/registrationids/?api-version=2017-04", as: "Listen")
            #expect(issued.status == 201 && issued.bytes.isEmpty)
            let location = try #require(issued.header("Location"))
            let match = try #require(
                location.wholeMatch(
                    of:
                        /https:\/\/localhost(?::[0-9]+)?\/default\/registrationids\/([0-9]{1,19}-[0-9]{1,19}-[0-9])\?api-version=2017-04/
                )
            )
            let path = "/default/registrations/\(match.1)?api-version=2017-04"
            let put = try await hub.call(.put, path, as: "Listen", body: HubHarness.apple(tags: "b, a"))
            #expect(
                put.status == 200 && put.header("Content-Type") == "application/atom+xml; type=entry; charset=utf-8"
            )
            #expect(put.header("Content-Location") == nil)
            let read = try await hub.call(.get, path, as: "Listen")
            let registration = try read.registration
            #expect(read.status == 200 && registration.id == String(match.1) && registration.tags == ["a", "b"])
            #expect(registration.platform == .apple && registration.handle == [HubHarness.token])
            #expect(registration.expirationTime == "9999-12-31T23:59:59.999Z")
            #expect(read.header("ETag") == "W/\"\(try #require(registration.etag))\"")
            #expect(read.text.contains("<AppleRegistrationDescription xmlns=\""))
            let deleted = try await hub.call(.delete, path, as: "Listen", headers: ["If-Match": "*"])
            #expect(deleted.status == 200 && deleted.bytes.isEmpty)
            let gone = try await hub.call(.get, path, as: "Listen")
            #expect(gone.status == 404)
            #expect(try gone.element("Code") == "404")
            #expect(try await hub.call(.delete, path, as: "Listen").status == 404)
            // The backend decides about its ids: a retired one may come back.
            #expect(try await hub.call(.put, path, as: "Listen", body: HubHarness.apple()).status == 200)
        }
    }

    @Test("A registration without an id is 200 with Content-Location; the same device is one registration")
    func create() async throws {
        try await HubHarness.run { hub in
            let first = try await hub.call(.post, "/default/registrations", body: HubHarness.apple(tags: "a"))
            #expect(first.status == 200)
            let id = try #require(try first.registration.id)
            #expect(first.header("Content-Location")?.contains("/default/registrations/\(id)?") == true)
            let again = try await hub.call(.post, "/default/registrations", body: HubHarness.apple(tags: "b"))
            #expect(try again.registration.id == id)
            #expect(try again.registration.tags == ["b"])
        }
    }

    @Test("If-Match takes three spellings of the present number, and refuses another")
    func etags() async throws {
        try await HubHarness.run { hub in
            let path = "/default/registrations/1-2-3"
            #expect(try await hub.call(.put, path, body: HubHarness.apple(), headers: ["If-Match": "*"]).status == 404)
            for spelling in ["W/\"%\"", "\"%\"", "%"] {
                let put = try await hub.call(.put, path, body: HubHarness.apple())
                let etag = try #require(try put.registration.etag)
                let match = ["If-Match": spelling.replacing("%", with: etag)]
                #expect(
                    try await hub.call(.put, path, body: HubHarness.apple(), headers: match).status == 200,
                    "\(spelling)"
                )
            }
            for wrong in ["W/\"1\"", "\"", "\"\"", "x"] {
                let answer = try await hub.call(.put, path, body: HubHarness.apple(), headers: ["If-Match": wrong])
                #expect(answer.status == 412, "\(wrong)")
                #expect(try await hub.call(.delete, path, headers: ["If-Match": wrong]).status == 412)
            }
        }
    }

    @Test("An entity tag changes with a patch of tags, which leaves the time of the registration as it is")
    func etagOfPatch() async throws {
        try await HubHarness.run { hub in
            let installation = "/default/installations/i-1"
            let body = #"{"platform":"apns","pushChannel":"\#(HubHarness.token)","tags":["a"]}"#
            #expect(try await hub.call(.put, installation, body: body).status == 200)
            let before = try #require(try await hub.call(.get, "/default/registrations").registrations.first)
            let patch = #"[{"op":"add","path":"/tags","value":"b"}]"#
            #expect(try await hub.call(.patch, installation, body: patch).status == 200)
            let after = try #require(try await hub.call(.get, "/default/registrations").registrations.first)
            #expect(before.id == after.id && before.etag != after.etag)
            let path = "/default/registrations/\(try #require(before.id))"
            let old = try await hub.call(.delete, path, headers: ["If-Match": try #require(before.etag)])
            #expect(old.status == 412)
            let new = try await hub.call(.delete, path, headers: ["If-Match": try #require(after.etag)])
            #expect(new.status == 200)
        }
    }

    @Test("A user has no more devices through a hub than through the API: the oldest makes room")
    func devicesOfUser() async throws {
        try await HubHarness.run(spec: AppSpec { $0.registrationsPerUser = 3 }) { hub in
            for index in 1...5 {
                let token = String(repeating: "0\(index)", count: 32)
                let body = #"{"platform":"apns","pushChannel":"\#(token)","userId":"ann"}"#
                let put = try await hub.call(.put, "/default/installations/i-\(index)", as: "Listen", body: body)
                #expect(put.status == 200, "\(put.text)")
            }
            let list = try await hub.call(.get, "/default/registrations").registrations
            #expect(list.map { $0.handle[0].prefix(2) } == ["03", "04", "05"])
        }
    }

    @Test("A user's tag makes it the user's device")
    func users() async throws {
        try await HubHarness.run { hub in
            let path = "/default/registrations/1-2-3"
            let put = try await hub.call(.put, path, body: HubHarness.apple(tags: "username:Ann,from:ann,x"))
            #expect(try put.registration.tags.sorted() == ["from:ann", "username:ann", "x"])
            let id = try #require(RegistrationID("1-2-3"))
            let stored = try #require(try await hub.store.registration(id, app: .default))
            #expect(stored.user?.key == "ann")
            let two = try await hub.call(.put, path, body: HubHarness.apple(tags: "username:ann,username:bob"))
            #expect(two.status == 400 && two.text.contains("username:bob"))
        }
    }

    @Test(
        "An installation is any user's; no tag is made of a name that can be none",
        arguments: ["x||vip", "a') || all('", "zo\u{E9} 🐙"]
    )
    func unusualUsers(name: String) async throws {
        try await HubHarness.run { hub in
            let user = JSONValue.string(name).compactText
            let body =
                #"{"platform":"apns","pushChannel":"\#(String(repeating: "01", count: 32))","userId":\#(user),"tags":["t"]}"#
            let put = try await hub.call(.put, "/default/installations/i-1", as: "Listen", body: body)
            #expect(put.status == 200, "\(put.text)")
            let read = try await hub.call(.get, "/default/installations/i-1")
            #expect(read.text.contains(#""userId":\#(user)"#), "\(read.text)")
            let found = try #require(try await hub.call(.get, "/default/registrations").registrations.first)
            #expect(found.tags.sorted() == ["$InstallationId:{i-1}", "t"])
            let id = try #require(found.id.flatMap(RegistrationID.init))
            #expect(try await hub.store.registration(id, app: .default)?.user?.key == ExactText(name))
            // As an expression has it, and not in the braces of a tag.
            let quoted = "user('\(name.replacing("'", with: "''"))')"
            for (tags, status) in [(quoted, 201), ("$UserId:{\(name)}", 400), ("username:\(name)", 400)]
            where tags.utf8.allSatisfy({ $0 < 0x80 }) {
                let answer = try await hub.call(
                    .post,
                    "/default/messages",
                    as: "Send",
                    body: #"{"aps":{"alert":"x"}}"#,
                    headers: ["ServiceBusNotification-Format": "apple", "ServiceBusNotification-Tags": tags]
                )
                // username:x||vip has its own meaning, which is not that user.
                guard !tags.hasPrefix("username:x||") else { continue }
                #expect(answer.status == status, "\(tags): \(answer.text)")
            }
        }
    }

    @Test("Lists have pages with tokens that need no escape, by tag and by handle too")
    func lists() async throws {
        try await HubHarness.run { hub in
            for index in 0..<5 {
                let token = String(repeating: "0\(index)", count: 32)
                let tags = index < 2 ? "even,few" : "even"
                let put = try await hub.call(
                    .put,
                    "/default/registrations/1-\(index)-1",
                    body: HubHarness.apple(token, tags: tags)
                )
                #expect(put.status == 200)
            }
            var path = "/default/registrations/?api-version=2020-06&$top=2"
            var found: [String] = []
            while true {
                let page = try await hub.call(.get, path)
                #expect(page.header("Content-Type") == "application/atom+xml; type=feed; charset=utf-8")
                found += try page.registrations.compactMap(\.id)
                guard let token = page.header("X-MS-ContinuationToken") else { break }
                #expect(PercentCoding.encode(token) == token)
                let next = try XMLReader.read(page.bytes).elements.first { $0.attribute("rel") == "next" }
                #expect(next?.attribute("href")?.contains("continuationtoken=\(token)") == true)
                path = "/default/registrations/?api-version=2020-06&$top=2&ContinuationToken=\(token)"
            }
            #expect(found == (0..<5).map { "1-\($0)-1" })
            #expect(try await hub.call(.get, "/default/tags/FEW/registrations").registrations.count == 2)
            #expect(try await hub.call(.get, "/default/tags/none/registrations").registrations.isEmpty)
            let handle = String(repeating: "03", count: 32)
            for filter in ["ChannelUri+eq+'\(handle)'", "deviceToken%20eq%20'\(handle)'"] {
                let list = try await hub.call(
                    .get,
                    "/default/Registrations/?$filter=\(filter)&api-version=2013-04",
                    as: "Listen"
                )
                #expect(try list.registrations.map(\.id) == ["1-3-1"])
            }
            #expect(try await hub.call(.get, "/default/registrations?$filter=x").status == 400)
        }
    }

    @Test("What cannot be kept is 400 that names it, and so is hostile XML")
    func refusals() async throws {
        try await HubHarness.run { hub in
            let adm =
                "<AdmRegistrationDescription><AdmRegistrationId>x</AdmRegistrationId></AdmRegistrationDescription>"
            let mpns =
                "<MpnsRegistrationDescription><ChannelUri>http://s.notify.live.net/u</ChannelUri></MpnsRegistrationDescription>"
            for (body, word) in [
                (adm, "adm"), (mpns, "Mpns"), (HubHarness.apple("no token"), "handle"),
                (
                    HubHarness.apple().replacing("<Tags>", with: "<ExpirationTime>soon</ExpirationTime><Tags>"),
                    "ExpirationTime"
                ),
                (HubHarness.apple(tags: "$InstallationId:{x}"), "Tags"), ("<a", "XML"), ("<!DOCTYPE a><a/>", "XML"),
            ] {
                let answer = try await hub.call(.post, "/default/registrations", body: body)
                #expect(answer.status == 400 && answer.text.contains(word), "\(body): \(answer.text)")
            }
        }
    }

    @Test("An installation is put, read, changed and deleted, and there is again under its id")
    func installations() async throws {
        try await HubHarness.run { hub in
            let path = "/default/installations/6D5E-a?api-version=2020-06"
            let body =
                #"{"installationId":"6D5E-a","platform":"apns","pushChannel":"\#(HubHarness.token)","userId":"ann","tags":["a","b"],"templates":{}}"#
            #expect(try await hub.call(.get, path, as: "Listen").status == 404)
            let put = try await hub.call(.put, path, as: "Listen", body: body)
            #expect(put.status == 200 && put.bytes.isEmpty)
            let read = try await hub.call(.get, path, as: "Listen")
            #expect(read.status == 200 && read.header("Content-Type") == "application/xml; charset=utf-8")
            let installation = try WireInstallation(reading: read.bytes, id: "6D5E-a")
            #expect(installation.tags == ["a", "b"] && installation.userID == "ann")
            let listed = try await hub.call(.get, "/default/registrations").registrations
            #expect(listed.map(\.tags) == [["$InstallationId:{6D5E-a}", "$UserId:{ann}", "a", "b"]])
            let patch = #"[{"op":"add","path":"/tags","value":"c"},{"op":"remove","path":"/tags/a"}]"#
            #expect(try await hub.call(.patch, path, as: "Listen", body: patch).status == 200)
            let other = String(repeating: "cd", count: 32)
            let replace =
                #"[{"op":"replace","path":"/pushChannel","value":"\#(other)"},{"op":"replace","path":"/userId","value":"bob"}]"#
            #expect(try await hub.call(.patch, path, as: "Listen", body: replace).status == 200)
            let changed = try WireInstallation(reading: try await hub.call(.get, path).bytes, id: "6D5E-a")
            #expect(changed.tags == ["b", "c"] && changed.userID == "bob" && changed.pushChannel == other)
            #expect(try await hub.call(.get, "/default/registrations").registrations.count == 1)
            let list = try JSONReader.read(try await hub.call(.get, "/default/installations").bytes)
            guard case .array(let elements) = list else { throw InvalidValue("no array") }
            #expect(elements == [changed.json])
            for _ in 0..<2 { #expect(try await hub.call(.delete, path, as: "Listen").status == 204) }
            #expect(try await hub.call(.get, path).status == 404)
            #expect(try await hub.call(.patch, path, body: patch).status == 404)
            #expect(try await hub.call(.put, path, body: body).status == 200)
            #expect(try await hub.call(.get, path).status == 200)
        }
    }

    @Test("Ids and names in base64 work, in paths and in expressions, and are one name in any place")
    func base64() async throws {
        try await HubHarness.run { hub in
            let body = #"{"platform":"apns","pushChannel":"\#(HubHarness.token)","userId":"dXNlcg==","tags":["a"]}"#
            for path in ["/default/installations/aW5zdA==", "/default/installations/aW5zdA%3D%3D"] {
                #expect(try await hub.call(.put, path, as: "Listen", body: body).status == 200)
                let read = try await hub.call(.get, path, as: "Listen")
                #expect(try WireInstallation(reading: read.bytes, id: "aW5zdA==").userID == "dXNlcg==")
            }
            let listed = try await hub.call(.get, "/default/registrations").registrations
            #expect(listed.map(\.tags) == [["$InstallationId:{aW5zdA==}", "$UserId:{dXNlcg==}", "a"]])
            for tag in ["$InstallationId:{aW5zdA==}", "$UserId:{dXNlcg==}", "username:dXNlcg=="] {
                let path = "/default/tags/\(PercentCoding.encode(tag))/registrations"
                #expect(try await hub.call(.get, path).registrations.count == 1, "\(tag)")
            }
            for (tags, count) in [
                ("$InstallationId:{aW5zdA==} && a", 1), ("$UserId:{dXNlcg==}", 1), ("!($UserId:{dXNlcg==} || b)", 0),
                ("$UserId:{dXNlcg=}", 0), ("$InstallationId:{aW5zdA==}&&$UserId:{dXNlcg==}", 1),
            ] {
                let expression = try WireTags.expression(tags, .folded)
                let page = try await hub.store.audience(
                    AudienceQuery(
                        .expression(try TagExpression(parsing: expression.description, .folded)),
                        app: .default,
                        pns: .apns,
                        through: 1000,
                        limit: 10
                    )
                )
                #expect(page.rows.count == count, "\(tags)")
            }
            let plain = try await hub.call(.post, "/default/registrations", body: HubHarness.apple(tags: "a=b"))
            #expect(plain.status == 400 && plain.text.contains("Tags"), "\(plain.text)")
        }
    }

    @Test("A registration ends when its client says so, and a patch leaves that as it is")
    func ends() async throws {
        try await HubHarness.run { hub in
            let end = "2126-02-19T07:08:00"
            let body = HubHarness.apple().replacing("<Tags>", with: "<ExpirationTime>\(end)</ExpirationTime><Tags>")
            let put = try await hub.call(.put, "/default/registrations/1-1-1", body: body)
            #expect(try put.registration.expirationTime?.hasPrefix(end) == true, "\(put.text)")
            let again = try await hub.call(.put, "/default/registrations/1-1-1", body: HubHarness.apple())
            #expect(try again.registration.expirationTime == WireTime.never)
            let path = "/default/installations/i"
            let installation =
                ##"{"platform":"apns","pushChannel":"\##(HubHarness.token)","expirationTime":"\##(end)Z","templates":{"t":{"body":"{}"}}}"##
            #expect(try await hub.call(.put, path, body: installation).status == 200)
            for patch in [
                #"[{"op":"add","path":"/tags","value":"a"}]"#, #"[{"op":"replace","path":"/userId","value":"ann"}]"#,
            ] { #expect(try await hub.call(.patch, path, body: patch).status == 200) }
            let listed = try await hub.call(.get, "/default/registrations").registrations
            #expect(listed.count == 2 && listed.allSatisfy { $0.expirationTime?.hasPrefix(end) == true }, "\(listed)")
        }
    }

    @Test("What of an installation cannot be kept is 400 that names it")
    func wrongInstallations() async throws {
        try await HubHarness.run { hub in
            let channel = #""pushChannel":"\#(HubHarness.token)""#
            for (id, body, word) in [
                ("i", #"{"platform":"adm",\#(channel)}"#, "adm"),
                ("i", #"{"platform":"mpns","pushChannel":"http://s.notify.live.net/u"}"#, "mpns"),
                ("i", #"{"platform":"apns",\#(channel),"expirationTime":"soon"}"#, "expirationTime"),
                ("i", #"{"platform":"apns",\#(channel),"expirationTime":"2020-01-01T00:00:00Z"}"#, "in the past"),
                ("i", #"{"platform":"apns",\#(channel),"pushVariables":{"a":"b"}}"#, "pushVariables"),
                ("i", #"{"platform":"apns"}"#, "pushChannel"),
                ("a%20b", #"{"platform":"apns",\#(channel)}"#, "installationId"),
                ("i", #"{"platform":"apns",\#(channel),"userId":"a\u0007b"}"#, "userId"),
                ("i", #"{"platform":"apns",\#(channel),"tags":["username:x"],"userId":"y"}"#, "username:x"),
            ] {
                let answer = try await hub.call(.put, "/default/installations/\(id)", body: body)
                #expect(answer.status == 400 && answer.text.contains(word), "\(body): \(answer.text)")
            }
        }
    }

    @Test("A tag that the app reserves takes a rule that may manage; more than 60 tags are refused")
    func reservedTags() async throws {
        try await HubHarness.run(spec: AppSpec { $0.reservedTags = ["vip:"] }) { hub in
            let path = "/default/registrations?api-version=2017-04"
            let body = HubHarness.apple(tags: "a, VIP:gold")
            let refused = try await hub.call(.post, path, as: "Listen", body: body)
            #expect(refused.status == 400 && refused.text.contains("reserves"), "\(refused.text)")
            #expect(try await hub.call(.post, path, as: "Full", body: body).status == 200)
            let many = HubHarness.apple(tags: (0..<5000).map { "t\($0)" }.joined(separator: ","))
            let tooMany = try await hub.call(.post, path, as: "Full", body: many)
            #expect(tooMany.status == 400 && tooMany.text.contains("at most 60"), "\(tooMany.text)")
        }
    }
}
