import PushModel
import Store
import StoreKit
import Testing

/// The numbers that stand for handles.
@Suite struct HandleDigestTests {
    /// The values that the authors of SipHash give, for the bytes 0, 1, 2 … with the key 0 to 15.
    @Test(
        arguments: [
            (0, 0x726F_DB47_DD0E_0E31), (1, 0x74F8_39C5_93DC_67FD), (7, 0xAB02_00F5_8B01_D137),
            (8, 0x93F5_F579_9A93_2462), (15, 0xA129_CA61_49BE_45E5), (63, 0x958A_324C_EB06_4572),
        ] as [(UInt8, UInt64)]
    )
    func digestsAreSipHash(length: UInt8, expected: UInt64) throws {
        #expect(try HandleDigest(key: Array(0..<16)).hash(Array(0..<length)) == expected)
    }

    @Test func aDigestCoversAppServiceAndHandle() throws {
        let digest = try HandleDigest(key: Array(0..<16))
        let service = UInt8(PushService.fcm.number)
        let whole = digest.hash([1, 0, 0, 0, 0, 0, 0, 0, service, 0, 0, 0, 0, 0, 0, 0] + Array("abcdefghi".utf8))
        let handle = Handle(stored: "abcdefghi")
        let number = digest.number(of: handle, .fcm, .native, app: 1)
        #expect(number == Int64(bitPattern: whole))
        #expect(digest.number(of: handle, .apns, .native, app: 1) != number)
        #expect(digest.number(of: handle, .fcm, .template, app: 1) != number)
        #expect(digest.number(of: handle, .fcm, .native, app: 2) != number)
        #expect(throws: StoreError.self) { try HandleDigest(key: Array(0..<15)) }
    }
}
