import Foundation
import Testing

@testable import PushModel

@Suite struct PushServiceTests {
    /// A number that two share, or that has no bit, would mix up what is stored.
    @Test func numbersAreUniqueAndFitABitMask() {
        let numbers = PushService.allCases.map(\.number)
        #expect(Set(numbers).count == numbers.count)
        for service in PushService.allCases {
            #expect((1...62).contains(service.number), "\(service)")
            #expect(PushService(number: service.number) == service)
        }
        #expect(PushService(number: 0) == nil)
    }

    /// What is stored and sent already.
    @Test func numbersDoNotChange() {
        #expect([PushService.apns, .fcm, .wns, .mpns, .web].map(\.number) == [1, 2, 3, 4, 5])
    }

    @Test func namesAreUniqueAndLowerCase() {
        let names = PushService.allCases.flatMap(\.names)
        #expect(Set(names).count == names.count)
        for name in names { #expect(name == name.lowercased()) }
        for service in PushService.allCases {
            for name in service.names { #expect(PushService(platformName: name.uppercased()) == service) }
        }
    }

    @Test func servicesInUseHaveKindsOfPayloadsAndCredentials() {
        for service in PushService.inService {
            let kinds = service.descriptor.kinds
            #expect(!kinds.isEmpty && kinds.allSatisfy { $0.pns == service && $0.maximumPayload > 0 }, "\(service)")
            #expect(Set(kinds.map(\.number)).count == kinds.count, "\(service)")
            #expect(Set(kinds.map(\.name)).count == kinds.count, "\(service)")
            #expect(service.descriptor.credentials?.service == service, "\(service)")
        }
    }

    @Test func listsOfServicesReadWell() {
        #expect(PushService.list([.apns]) == "apns")
        #expect(PushService.list([.apns, .fcm, .wns]) == "apns, fcm or wns")
        #expect(PushService.list([.fcm, .wns], otherNames: true) == "fcm, gcm or wns")
        #expect(
            PushService.unknown("adm", among: [.fcm, .wns]).reason == "\"adm\" is not a push service; use fcm or wns"
        )
        #expect(
            PushService.unknown("adm", among: [.fcm, .wns], otherNames: true).reason
                == "\"adm\" is not a platform; use fcm, gcm or wns"
        )
        #expect(
            PushService.unknown("MPNS", among: [.wns], otherNames: true).reason
                == "\"MPNS\" is retired: its devices can be registered, but not sent to; use wns"
        )
        #expect(PushService.unknown("MPNS", among: [.wns]).reason == "\"MPNS\" is not a push service; use wns")
        #expect(PushService.unknown(among: [.wns]).reason == "is not a push service; use wns")
    }

    @Test func anAppDeclaresItsServices() throws {
        var spec = AppSpec {
            $0.fcm = AppSpec.FCM {
                $0.serviceAccountFile = "/f"
                $0.devicesPerSecond = 5
            }
        }
        #expect(spec.services == [.fcm])
        #expect(spec.fcm?.devicesPerSecond == 5)
        #expect(spec.apns?.devicesPerSecond == nil)
        var other = spec
        other.fcm?.devicesPerSecond = 6
        #expect(spec != other)
        other.fcm = nil
        #expect(spec != other)
        #expect(other == AppSpec())
        spec.wns = AppSpec.WNS {
            $0.clientID = "c"
            $0.clientSecretFile = "/s"
            $0.tokenURL = "https://t"
        }
        #expect(spec.services == [.fcm, .wns])
    }

    /// The form that stores have: the keys are those of the file.
    @Test func theStoredFormDoesNotChange() throws {
        let spec = try AppSpec {
            $0.apns = AppSpec.APNs {
                $0.authentication = .token(.init(keyFile: "/k", keyID: "i", teamID: "t"))
                $0.topic = "b"
            }
            $0.api.origins = [try WebOrigin("http://localhost")]
            $0.richDefault.isSecure = true
        }
        let text = """
            {"api":{"origins":["http://localhost"]},\
            "apns":{"endpoint":"https://api.push.apple.com","key_file":"/k","key_id":"i","team_id":"t","topic":"b"},\
            "authentication":"accounts","contents":{"account_bytes":104857600,"app_bytes":10737418240},"hub":"embedded",\
            "recording":"failures","registrations_per_user":100,"reserved_tags":[],\
            "rich":{"message":"Check this image out!","per_account":1000,"per_app":1000000,"rich_type":"img","secure":true},\
            "tags_per_registration":200,"users":"folded"}
            """
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        #expect(String(decoding: try encoder.encode(spec), as: UTF8.self) == text)
        let read = try JSONDecoder().decode(AppSpec.self, from: Data(text.utf8))
        #expect(read == spec)
        #expect(read.services == [.apns])
    }

    @Test func aCertificateStandsInPlaceOfAKey() {
        let apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "/k", keyID: "i", teamID: "t"))
            $0.authentication = .certificate(.init(file: "/c.p12", passwordFile: "/p"))
            $0.topic = "b"
            $0.endpoint = "https://e"
        }
        let text = """
            {"certificate_file":"/c.p12","certificate_password_file":"/p","topic":"b","endpoint":"https://e"}
            """
        #expect(apns.written.compactText == text)
        #expect(apns.authentication == .certificate(.init(file: "/c.p12", passwordFile: "/p")))
        #expect(apns.fault == nil)
    }

    @Test func channelsMayBeginWithTheAppsPrefixes() throws {
        var spec = AppSpec()
        let text = "https://127.0.0.1:4/wns/a"
        #expect(throws: InvalidValue.self) { try spec.handle(text, of: .wns) }
        spec.wns = AppSpec.WNS {
            $0.clientID = "c"
            $0.clientSecretFile = "/s"
            $0.tokenURL = "https://t"
            $0.channelPrefixes = ["https://127.0.0.1:4/"]
        }
        #expect(try spec.handle(text, of: .wns).text == text)
        #expect(try spec.handle(text, of: .mpns).text == text)
        #expect(throws: InvalidValue.self) { try spec.handle("https://127.0.0.1:5/", of: .wns) }
    }
}
