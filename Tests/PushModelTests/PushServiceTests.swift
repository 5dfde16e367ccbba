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
        var spec = AppSpec(credentials: [AppSpec.FCM(serviceAccountFile: "/f", devicesPerSecond: 5)])
        #expect(spec.services == [.fcm])
        #expect(spec.fcm?.devicesPerSecond == 5)
        #expect(spec.apns?.devicesPerSecond == nil)
        var other = spec
        other.fcm?.devicesPerSecond = 6
        #expect(spec != other)
        other.fcm = nil
        #expect(spec != other)
        #expect(other == AppSpec())
        spec.wns = AppSpec.WNS(clientID: "c", clientSecretFile: "/s", tokenURL: "https://t")
        #expect(spec.services == [.fcm, .wns])
    }

    /// The form that stores have had from the beginning: credentials stand beside an app's other members.
    @Test func theStoredFormDoesNotChange() throws {
        let text = """
            {"apns":{"endpoint":"https://e","keyFile":"/k","keyID":"i","teamID":"t","topic":"b"},\
            "authentication":"accounts","recording":"failures","reservedTags":[],\
            "richDefault":{"isSecure":false,"message":"m","perAccount":1,"perApp":2,"richType":"img"},"users":"folded"}
            """
        let spec = try JSONDecoder().decode(AppSpec.self, from: Data(text.utf8))
        #expect(
            spec.apns
                == AppSpec.APNs(
                    .token(.init(keyFile: "/k", keyID: "i", teamID: "t")),
                    topic: "b",
                    endpoint: "https://e"
                )
        )
        #expect(spec.services == [.apns])
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        #expect(String(decoding: try encoder.encode(spec), as: UTF8.self) == text)
    }

    @Test func aCertificateIsStoredBesideTheAppsOtherMembersToo() throws {
        let apns = AppSpec.APNs(
            .certificate(.init(file: "/c.p12", passwordFile: "/p")),
            topic: "b",
            endpoint: "https://e",
            channelsEndpoint: "https://c"
        )
        let text = """
            {"certificateFile":"/c.p12","certificatePasswordFile":"/p","channelsEndpoint":"https://c","endpoint":"https://e","topic":"b"}
            """
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        #expect(String(decoding: try encoder.encode(apns), as: UTF8.self) == text)
        #expect(try JSONDecoder().decode(AppSpec.APNs.self, from: Data(text.utf8)) == apns)
    }

    @Test func channelsMayBeginWithTheAppsPrefixes() throws {
        var spec = AppSpec()
        let text = "https://127.0.0.1:4/wns/a"
        #expect(throws: InvalidValue.self) { try spec.handle(text, of: .wns) }
        spec.wns = AppSpec.WNS(
            clientID: "c",
            clientSecretFile: "/s",
            tokenURL: "https://t",
            channelPrefixes: ["https://127.0.0.1:4/"]
        )
        #expect(try spec.handle(text, of: .wns).text == text)
        #expect(try spec.handle(text, of: .mpns).text == text)
        #expect(throws: InvalidValue.self) { try spec.handle("https://127.0.0.1:5/", of: .wns) }
    }
}
