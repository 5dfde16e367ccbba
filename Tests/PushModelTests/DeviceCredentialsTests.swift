import Foundation
import PushModel
import Testing

/// Which credential each device of a batch has, in memory, on the wire and in a declaration.
@Suite struct DeviceCredentialsTests {
    private static let watch = name("watch")
    private static let sandbox = name("sandbox")

    private static func name(_ text: String) -> CredentialName {
        guard let name = try? CredentialName(text) else { preconditionFailure(text) }
        return name
    }

    private static func credentials(_ names: [CredentialName]) -> DeviceCredentials {
        var credentials = DeviceCredentials()
        for (index, name) in names.enumerated() { credentials.append(name, at: index) }
        return credentials
    }

    @Test func theDefaultTakesNoRoom() throws {
        let credentials = Self.credentials(Array(repeating: .default, count: 5))
        #expect(credentials == DeviceCredentials())
        #expect(credentials.isEmpty && credentials[3] == .default)
        var batch = try DeliverBatchTests.batch(devices: 5, again: false)
        let size = DeliveryMessage(batches: [batch]).encoded().count
        batch.devices.credentials = credentials
        #expect(DeliveryMessage(batches: [batch]).encoded().count == size)
    }

    @Test func eachDeviceHasItsOwn() {
        let names: [CredentialName] = [.default, Self.watch, .default, Self.sandbox, Self.watch, .default]
        let credentials = Self.credentials(names)
        #expect(names.indices.map { credentials[$0] } == names)
        #expect(credentials[99] == .default)
        #expect(credentials.names == [Self.watch, Self.sandbox])
        #expect(credentials.counts(of: 6) == [Self.watch: 2, Self.sandbox: 1])
        #expect(credentials.counts(of: 3) == [Self.watch: 1])
        #expect(credentials[2..<5] == Self.credentials([.default, Self.sandbox, Self.watch]))
        #expect(credentials[5..<6].isEmpty)
    }

    @Test(arguments: [[], [0, 4], [1, 2, 3], [16]]) func roundTrip(named: [Int]) throws {
        var batch = try DeliverBatchTests.batch(devices: 17, again: true)
        batch.devices.credentials = Self.credentials(
            (0..<17).map { named.contains($0) ? ($0.isMultiple(of: 2) ? Self.watch : Self.sandbox) : .default }
        )
        let bytes = DeliveryMessage(batches: [batch]).encoded()
        #expect(try DeliveryMessage(decoding: bytes).batches == [batch])
        for length in bytes.indices {
            #expect(throws: MalformedDelivery.self) { try DeliveryMessage(decoding: Array(bytes[..<length])) }
        }
    }

    @Test(arguments: ["", "Watch", "a b", "-a", String(repeating: "a", count: 41)]) func illegalNames(name: String) {
        #expect(throws: InvalidValue.self) { try CredentialName(name) }
    }

    // MARK: Declarations

    private static var spec: AppSpec {
        var spec = AppSpec()
        spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "/fcm.json" }
        spec.credentials[.fcm, Self.watch] = AppSpec.FCM {
            $0.serviceAccountFile = "/watch.json"
            $0.devicesPerSecond = 7
        }
        return spec
    }

    @Test func aDeclarationIsStoredWithAllItsCredentials() throws {
        let spec = Self.spec
        let data = try JSONEncoder().encode(spec)
        #expect(try JSONDecoder().decode(AppSpec.self, from: data) == spec)
        #expect(spec.services == [.fcm])
        #expect(spec.credentials.names(of: .fcm) == [.default, Self.watch])
        #expect(spec.credentials.all(AppSpec.FCM.self).map(\.serviceAccountFile) == ["/fcm.json", "/watch.json"])
        var other = spec
        other.credentials[.fcm, Self.watch] = nil
        #expect(other != spec)
    }

    @Test func aDeviceNamesOneThatIsDeclared() throws {
        let spec = Self.spec
        #expect(try spec.credential("watch", of: .fcm) == Self.watch)
        #expect(try spec.credential(nil, of: .apns) == .default)
        #expect(try spec.credential("default", of: .apns) == .default)
        let fault = #expect(throws: InvalidValue.self) { try spec.credential("sandbox", of: .fcm) }
        #expect(fault?.reason.contains("declared: default, watch") == true)
        #expect(throws: InvalidValue.self) { try spec.credential("watch", of: .apns) }
    }
}
