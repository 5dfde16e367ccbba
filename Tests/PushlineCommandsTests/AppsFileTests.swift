import Foundation
import PushModel
import Settings
import Testing

@testable import PushlineCommands

@Suite struct AppsFileTests {
    private func parse(_ text: String) throws -> AppsFile {
        try AppsFile(YAMLFile.parse(text, file: "apps.yaml", folder: URL(filePath: "/srv/push/")))
    }

    @Test func aHubIsTheEmbeddedOneOrAnAzureHub() throws {
        let apps = try self.parse(
            """
            apps:
              default: {hub: embedded}
              shop: {hub: {azure: {connection_string_file: secrets/hub, name: shop, platforms: [gcm], trust_file: /t}}}
              news: {hub: {azure: {connection_string_file: /hub, name: news}}}
            """
        ).apps
        #expect(apps[.default]?.azureHub == nil)
        let shop = AppSpec.AzureHub {
            $0.connectionStringFile = "/srv/push/secrets/hub"
            $0.name = "shop"
            $0.platforms = [.fcm]
            $0.trustFile = "/t"
        }
        #expect(try apps[AppID("shop")]?.azureHub == shop)
        #expect(try apps[AppID("shop")]?.services == [.fcm])
        #expect(try apps[AppID("news")]?.azureHub?.platforms == [.apns, .fcm, .wns])
        for (hub, words) in [
            ("other", "must be embedded, or a section azure"), ("{azure: {name: n}}", "connection_string_file"),
            ("{azure: {connection_string_file: f}}", "name: is missing"), ("{}", "azure: is missing"),
            ("{azure: {connection_string_file: f, name: n, platforms: [web]}}", "apns, fcm"),
            (
                "{azure: {connection_string_file: f, name: n}}, fcm: {service_account_file: f}",
                "the hub has the credentials"
            ),
            ("{azure: {connection_string_file: f, name: n}}, users: exact", "users: must be folded"),
        ] {
            let error = #expect(throws: SettingFault.self) { try self.parse("apps: {a: {hub: \(hub)}}") }
            #expect(error?.description.contains(words) == true, "\(String(describing: error))")
        }
    }

    @Test func everything() throws {
        let text = """
            apps:
              default:
                authentication: demonstration
                users: exact
                reserved_tags: ["role:", vip]
                recording: all
                requests_per_second: 7
                registration_lifetime_days: 30
                registrations_per_user: 7
                tags_per_registration: 1000
                apns: {key_file: keys/a.p8, key_id: ABC, team_id: 1234567890, topic: t, endpoint: "https://h:1", trust_file: /t}
                fcm: {service_account_file: ../fcm.json, endpoint: "https://h:2", trust_file: t.pem}
                wns:
                  client_id: c
                  client_secret_file: s
                  expires: 2027-01-31
                  token_url: https://h:3/token
                  scope: other
                  channel_prefixes: ["https://127.0.0.1:4/"]
                  trust_file: t.pem
                rich: {message: Look, rich_type: url, content: abc, secure: true, per_account: 5, per_app: 50}
              shop: {}
            """
        let apps = try self.parse(text).apps
        let spec = try #require(apps[.default])
        #expect(spec.authentication == .demonstration)
        #expect(spec.users == .exact)
        #expect(spec.reservedTags == ["role:", "vip"])
        #expect(spec.recording == .all)
        #expect(spec.requestsPerSecond == 7)
        #expect(spec.registrationLifetimeDays == 30)
        #expect(spec.registrationsPerUser == 7)
        #expect(spec.tagsPerRegistration == 1000 && spec.mostTags == 1000 && AppSpec().mostTags == 200)
        #expect(
            spec.apns
                == AppSpec.APNs {
                    $0.authentication = .token(
                        .init(keyFile: "/srv/push/keys/a.p8", keyID: "ABC", teamID: "1234567890")
                    )
                    $0.topic = "t"
                    $0.endpoint = "https://h:1"
                    $0.trustFile = "/t"
                }
        )
        #expect(
            spec.fcm
                == AppSpec.FCM {
                    $0.serviceAccountFile = "/srv/fcm.json"
                    $0.endpoint = "https://h:2"
                    $0.trustFile = "/srv/push/t.pem"
                }
        )
        #expect(
            spec.wns
                == AppSpec.WNS {
                    $0.clientID = "c"
                    $0.clientSecretFile = "/srv/push/s"
                    $0.secretEnds = Timestamp(rfc3339: "2027-01-31T00:00:00Z")
                    $0.tokenURL = "https://h:3/token"
                    $0.scope = "other"
                    $0.channelPrefixes = ["https://127.0.0.1:4/"]
                    $0.trustFile = "/srv/push/t.pem"
                }
        )
        #expect(
            spec.richDefault
                == AppSpec.RichDefault {
                    $0.message = "Look"
                    $0.richType = "url"
                    $0.content = "abc"
                    $0.isSecure = true
                    $0.perAccount = 5
                    $0.perApp = 50
                }
        )
        #expect(try apps[AppID("shop")] == AppSpec())
    }

    @Test func furtherCredentialsHaveNames() throws {
        let text = """
            apps:
              default:
                apns:
                  key_file: a.p8
                  key_id: A
                  team_id: T
                  topic: com.example.app
                  credentials:
                    sandbox:
                      key_file: b.p8
                      key_id: B
                      team_id: T
                      topic: com.example.app
                      endpoint: https://api.sandbox.push.apple.com
                    watch: {certificate_file: watch.p12, topic: com.example.app.watch, devices_per_second: 50}
            """
        let spec = try #require(try self.parse(text).apps[.default])
        let (sandbox, watch) = (try CredentialName("sandbox"), try CredentialName("watch"))
        #expect(spec.credentials.names(of: .apns) == [.default, sandbox, watch])
        #expect(
            spec.credentials[.apns, watch] as? AppSpec.APNs
                == AppSpec.APNs {
                    $0.authentication = .certificate(.init(file: "/srv/push/watch.p12"))
                    $0.topic = "com.example.app.watch"
                    $0.devicesPerSecond = 50
                }
        )
        // Nothing is inherited.
        let other = spec.credentials[.apns, sandbox] as? AppSpec.APNs
        #expect(other?.endpoint == "https://api.sandbox.push.apple.com" && other?.devicesPerSecond == nil)
        let leaves = spec.leaves.map { "\($0.path)=\($0.text)" }
        #expect(leaves.contains("apns.credentials.watch.topic=com.example.app.watch"))
        #expect(try JSONDecoder().decode(AppSpec.self, from: JSONEncoder().encode(spec)) == spec)
    }

    @Test func tokensAndOrigins() throws {
        let text = """
            apps:
              default:
                tokens:
                  issuer: https://login.example.com/
                  audience: push
                  algorithms: [ES256]
                  jwks_url: https://login.example.com/jwks.json
                  trust_file: ca.pem
                  user_claim: email
                  same_users: true
                api: {origins: ["https://App.example.com:443", "http://localhost:5173"]}
              shop:
                users: folded
                tokens: {issuer: shop, audience: push, jwks_file: jwks.json}
            """
        let apps = try self.parse(text).apps
        let spec = try #require(apps[.default])
        let url = "https://login.example.com/jwks.json"
        #expect(
            spec.tokens
                == TokenSettings {
                    $0.issuer = "https://login.example.com/"
                    $0.audience = "push"
                    $0.algorithms = [.es256]
                    $0.keySet = .address(url: url, trustFile: "/srv/push/ca.pem")
                    $0.userClaim = "email"
                    $0.sameUsers = true
                }
        )
        // The issuer's names may differ by case alone.
        #expect(spec.users == .exact)
        #expect(spec.api.origins.map(\.text) == ["https://app.example.com", "http://localhost:5173"])
        let shop = try #require(try apps[AppID("shop")])
        #expect(shop.users == .folded)
        #expect(shop.tokens?.keySet == .file(path: "/srv/push/jwks.json"))
        #expect(shop.tokens?.algorithms == [.rs256, .es256])
        #expect(shop.tokens?.userClaim == "sub")
        // As the store has it.
        for spec in [spec, shop] {
            #expect(try JSONDecoder().decode(AppSpec.self, from: JSONEncoder().encode(spec)) == spec)
        }
        let shown = Dictionary(shop.changes(to: spec).map { ($0.path, $0.new) }, uniquingKeysWith: { $1 })
        #expect(shown["tokens.jwks_url"] == url)
        #expect(shown["tokens.same_users"] == "true")
        #expect(shown["api.origins"] == "[https://app.example.com, http://localhost:5173]")
    }

    @Test(arguments: ["com.example/../x", "com example", "com.example\u{e9}"]) func aTopicIsABundleID(topic: String) {
        let error = #expect(throws: SettingFault.self) {
            try self.parse(
                """
                apps:
                  default:
                    apns: {key_file: a.p8, key_id: ABC, team_id: 1234567890, topic: "\(topic)"}
                """
            )
        }
        #expect(error?.description.contains("apns.topic") == true, "\(error?.description ?? "")")
    }

    @Test func aCertificateStandsInPlaceOfAnAPNsKey() throws {
        let text = """
            apps:
              default:
                apns: {certificate_file: c.pem, private_key_file: k.pem, certificate_password_file: p, topic: t}
              shop:
                apns: {certificate_file: /c.p12, topic: t}
            """
        let apps = try self.parse(text).apps
        #expect(
            apps[.default]?.apns?.authentication
                == .certificate(
                    .init(
                        file: "/srv/push/c.pem",
                        privateKeyFile: "/srv/push/k.pem",
                        passwordFile: "/srv/push/p"
                    )
                )
        )
        #expect(try apps[AppID("shop")]?.apns?.authentication == .certificate(.init(file: "/c.p12")))
        let leaves = try #require(apps[.default]).leaves.filter { $0.path.hasPrefix("apns.") }
        #expect(
            leaves.map(\.path) == [
                "apns.certificate_file", "apns.private_key_file", "apns.certificate_password_file", "apns.topic",
                "apns.endpoint",
            ]
        )
    }

    @Test func defaults() throws {
        let text = """
            apps:
              default:
                apns: {key_file: /a, key_id: K, team_id: T, topic: t}
                fcm: {service_account_file: /f}
                wns: {client_id: c, client_secret_file: /s, token_url: "https://h"}
            """
        let spec = try #require(try self.parse(text).apps[.default])
        #expect(spec.apns?.endpoint == AppSpec.APNs().endpoint && spec.fcm?.endpoint == AppSpec.FCM().endpoint)
        #expect(spec.wns?.scope == AppSpec.WNS().scope)
        #expect(spec.richDefault == AppSpec.RichDefault())
    }

    @Test(arguments: [
        ("", "apps.yaml: apps: is missing"),
        ("# nothing\n", "apps.yaml: apps: is missing"),
        ("apps:\n  default:\n    fcm: {}", "apps.yaml:3: apps.default.fcm.service_account_file: is missing"),
        (
            "apps:\n  default:\n    tokens:",
            "apps.yaml:3: apps.default.tokens.jwks_file: is missing; give jwks_url or jwks_file"
        ),
        (
            "apps:\n  default:\n    hub: {azure: {connection_string_file: f, name: n, platforms: []}}",
            "apps.yaml:3: apps.default.hub.azure.platforms: must be a list, such as [a, b]"
        ),
        ("x: 1", "apps.yaml:1: x: unknown; known are apps"),
        ("app:\n  default: {}", "apps.yaml:1: app: unknown; did you mean apps?"),
        ("[]", "apps.yaml:1: must be a section with keys of its own"),
        ("apps: {}", "apps.yaml:1: apps: names no app"),
        ("apps:\n  default: 1", "apps.yaml:2: apps.default: must be a section with keys of its own"),
        ("apps:\n  Shop: {}", "apps.yaml:2: apps.Shop: an app's name is 1 to 40 lower-case letters, digits and '-'"),
        (
            "apps:\n  default:\n    apns: {kei_file: a}",
            "apps.yaml:3: apps.default.apns.kei_file: unknown; did you mean key_file?"
        ),
        (
            "apps:\n  default:\n    rich: {secure: sometimes}",
            "apps.yaml:3: apps.default.rich.secure: must be true or false"
        ),
        ("apps:\n  default:\n    apns: {key_id: a}", "apps.yaml:3: apps.default.apns.key_file: is missing"),
        (
            "apps:\n  default:\n    apns: {private_key_file: a}",
            "apps.yaml:3: apps.default.apns.certificate_file: is missing"
        ),
        (
            "apps:\n  default:\n    fcm: {service_account_file: a, credentials: {Watch: {service_account_file: b}}}",
            "apps.yaml:3: apps.default.fcm.credentials.Watch: a credential's name is 1 to 40 lower-case letters, digits and '-'"
        ),
        (
            "apps:\n  default:\n    fcm: {service_account_file: a, credentials: {default: {service_account_file: b}}}",
            "apps.yaml:3: apps.default.fcm.credentials.default: is the name of the one in the section itself; choose another"
        ),
        (
            "apps:\n  default:\n    fcm: {service_account_file: a, credentials: {watch: {endpoint: \"https://h\"}}}",
            "apps.yaml:3: apps.default.fcm.credentials.watch.service_account_file: is missing"
        ),
        (
            "apps:\n  default:\n    fcm: {service_account_file: a, credentials: {watch: {topic: t, service_account_file: b}}}",
            "apps.yaml:3: apps.default.fcm.credentials.watch.topic: unknown; known are service_account_file, endpoint, "
                + "trust_file, devices_per_second"
        ),
        (
            "apps:\n  default:\n    fcm: {service_account_file: a, credentials: [b]}",
            "apps.yaml:3: apps.default.fcm.credentials: must be a section with keys of its own"
        ),
        (
            "apps:\n  default:\n    apns: {topic: t}",
            "apps.yaml:3: apps.default.apns.key_file: is missing, with key_id and team_id; or declare a certificate with "
                + "certificate_file"
        ),
        (
            "apps:\n  default:\n    apns: {key_file: a, key_id: b, team_id: c, certificate_file: d, topic: t}",
            "apps.yaml:3: apps.default.apns.certificate_file: cannot stand beside key_file: declare either a key "
                + "(key_file, key_id, team_id) or a certificate (certificate_file)"
        ),
        (
            "apps:\n  default:\n    fcm: {service_account_file: }",
            "apps.yaml:3: apps.default.fcm.service_account_file: must be the name of a file"
        ),
        (
            "apps:\n  default:\n    fcm: {service_account_file: true}",
            "apps.yaml:3: apps.default.fcm.service_account_file: must be the name of a file"
        ),
        (
            "apps:\n  default:\n    fcm: {service_account_file: [a]}",
            "apps.yaml:3: apps.default.fcm.service_account_file: must be the name of a file"
        ),
        ("apps:\n  default:\n    fcm: x", "apps.yaml:3: apps.default.fcm: must be a section with keys of its own"),
        ("apps:\n  default:\n    users: azure", "apps.yaml:3: apps.default.users: must be one of folded, exact"),
        ("apps:\n  default:\n    recording: 1", "apps.yaml:3: apps.default.recording: must be one of failures, all"),
        (
            "apps:\n  default:\n    reserved_tags: vip",
            "apps.yaml:3: apps.default.reserved_tags: must be a list, such as [a, b]"
        ),
        (
            "apps:\n  default:\n    requests_per_second: 0",
            "apps.yaml:3: apps.default.requests_per_second: must be a whole number from 1 to 1000000"
        ),
        (
            "apps:\n  default:\n    requests_per_second: \"5\"",
            "apps.yaml:3: apps.default.requests_per_second: must be a whole number from 1 to 1000000"
        ),
        (
            "apps:\n  default:\n    tags_per_registration: 1001",
            "apps.yaml:3: apps.default.tags_per_registration: must be a whole number from 1 to 1000"
        ),
        (
            "apps:\n  default:\n    fcm: {service_account_file: a, endpoint: \"http://h\"}",
            "apps.yaml:3: apps.default.fcm.endpoint: must be an https address"
        ),
        (
            "apps:\n  default:\n    tokens: {issuer: i, audience: a}",
            "apps.yaml:3: apps.default.tokens.jwks_file: is missing; give jwks_url or jwks_file"
        ),
        (
            "apps:\n  default:\n    tokens: {issuer: i, audience: a, jwks_file: f, jwks_url: \"https://h\"}",
            "apps.yaml:3: apps.default.tokens.jwks_url: cannot be used with jwks_file; remove one of them"
        ),
        (
            "apps:\n  default:\n    tokens: {issuer: i, audience: a, jwks_url: \"http://h\"}",
            "apps.yaml:3: apps.default.tokens.jwks_url: must be an https address"
        ),
        (
            "apps:\n  default:\n    tokens: {issuer: i, audience: a, jwks_file: f, trust_file: t}",
            "apps.yaml:3: apps.default.tokens.trust_file: can only be used with jwks_url"
        ),
        (
            "apps:\n  default:\n    tokens: {issuer: i, audience: a, jwks_file: f, algorithms: [ES256, HS256]}",
            "apps.yaml:3: apps.default.tokens.algorithms: \"HS256\": must be one of RS256, ES256"
        ),
        (
            "apps:\n  default:\n    tokens: {audience: a, jwks_file: f}",
            "apps.yaml:3: apps.default.tokens.issuer: is missing"
        ),
        (
            "apps:\n  default:\n    authentication: demonstration\n    tokens: {issuer: i, audience: a, jwks_file: f}",
            "apps.yaml:4: apps.default.tokens: needs authentication: accounts"
        ),
        (
            "apps:\n  default:\n    api: {origins: [\"https://*.example.com\"]}",
            "apps.yaml:3: apps.default.api.origins: \"https://*.example.com\": must be an origin such as "
                + "https://app.example.com or https://app.example.com:8443, with no path and no wildcard"
        ),
        ("apps:\n  a: {}\n  a: {}", "apps.yaml:2: a: is given twice"),
        (
            "apps:\n  default:\n    fcm: {service_account_file: a, credential: {}}",
            "apps.yaml:3: apps.default.fcm.credential: unknown; did you mean credentials?"
        ),
        ("apps: [", "apps.yaml:2: is not YAML: did not find expected node content in column 1"),
    ])
    func faults(text: String, message: String) {
        let error = #expect(throws: SettingFault.self) { try self.parse(text) }
        #expect(error?.description == message)
    }

    @Test func unreadableFile() {
        let error = #expect(throws: SettingFault.self) { try AppsFile.read("/nowhere/apps.yaml") }
        #expect(error?.description.contains("/nowhere/apps.yaml") == true)
    }
}

@Suite struct AppSpecChangesTests {
    @Test func changesAreListedByKey() {
        var before = AppSpec {
            $0.reservedTags = ["a"]
            $0.fcm = AppSpec.FCM { $0.serviceAccountFile = "/f" }
        }
        before.requestsPerSecond = 5
        var after = before
        after.reservedTags = ["a", "b"]
        after.requestsPerSecond = nil
        after.fcm?.trustFile = "/t"
        let changes = before.changes(to: after).map { "\($0.path): \($0.old ?? "-") -> \($0.new ?? "-")" }
        #expect(changes == ["fcm.trust_file: - -> /t", "requests_per_second: 5 -> -", "reserved_tags: [a] -> [a, b]"])
        #expect(before.changes(to: before).isEmpty)
    }
}
