import PushModel
import Testing

@Suite struct DeliverParcelTests {
    private static func batch(_ number: Int, pns: PNS = .apns, app: AppID = .default) -> DeliverBatch {
        var devices = DeliverBatch.Devices()
        devices.rows = [Int64(number)]
        devices.handles.append("ab\(number % 10)\(number % 10)".utf8)
        return DeliverBatch(
            app: app,
            key: BatchKey(job: .make(), pns: pns, page: 0, attempt: 0),
            priority: .normal,
            expires: Timestamp(milliseconds: 1),
            keepUntil: nil,
            collapse: nil,
            payload: NativePayload(kind: .alert, body: Array("{\(number)}".utf8)),
            devices: devices
        )
    }

    @Test(arguments: [1, 2, 500]) func itIsReadAsItWasWritten(count: Int) throws {
        let parcel = DeliverParcel(batches: (0..<count).map { Self.batch($0) })
        #expect(try DeliverParcel(decoding: parcel.encoded()) == parcel)
        let size = parcel.batches.reduce(5) { $0 + 4 + DeliverParcel.wireSize(of: $1) }
        #expect(parcel.encoded().count <= size)
    }

    @Test func itHasRoomForSoManyBatchesBytesAndDevices() {
        func taken(_ batch: DeliverBatch) -> Int {
            var room = DeliverParcel.Room()
            return (1...1000).first { _ in !room.take(batch) }.map { $0 - 1 } ?? 1000
        }
        var batch = Self.batch(1)
        #expect(taken(batch) == DeliverParcel.maximumBatches)
        for _ in 2...10 {
            batch.devices.rows.append(1)
            batch.devices.handles.append("ab".utf8)
        }
        #expect(taken(batch) == DeliverParcel.maximumDevices / 10)
        batch.devices.handles.append([UInt8](repeating: 0x61, count: 30_000))
        #expect(taken(batch) == 6)
        // A batch that is larger than any parcel goes alone.
        batch.devices.handles.append([UInt8](repeating: 0x61, count: DeliverParcel.maximumBytes))
        #expect(taken(batch) == 1)
    }

    @Test func noPieceOfItIsTakenForIt() throws {
        let bytes = DeliverParcel(batches: [Self.batch(1), Self.batch(2)]).encoded()
        for length in bytes.indices {
            #expect(throws: MalformedBatch.self) { try DeliverParcel(decoding: Array(bytes[..<length])) }
        }
        #expect(throws: MalformedBatch.self) { try DeliverParcel(decoding: bytes + [0]) }
        #expect(throws: MalformedBatch.self) { try DeliverBatch(decoding: bytes) }
        #expect(throws: MalformedBatch.self) { try DeliverParcel(decoding: Self.batch(1).encoded()) }
    }

    @Test func whatDoesNotBelongTogetherIsRefused() throws {
        let parcels = [
            DeliverParcel(batches: []),
            DeliverParcel(batches: (0...DeliverParcel.maximumBatches).map { Self.batch($0) }),
            DeliverParcel(batches: [Self.batch(1), Self.batch(2, pns: .fcm)]),
            DeliverParcel(batches: [Self.batch(1), Self.batch(2, app: try AppID("other"))]),
        ]
        for parcel in parcels {
            #expect(throws: MalformedBatch.self) { try DeliverParcel(decoding: parcel.encoded()) }
        }
    }

    @Test func anyByteMayBeWrongAndNothingBreaks() throws {
        let bytes = DeliverParcel(batches: [Self.batch(1), Self.batch(2)]).encoded()
        for index in bytes.indices {
            var broken = bytes
            broken[index] ^= 0xFF
            _ = try? DeliverParcel(decoding: broken)
        }
    }

    @Test(arguments: ["bundle/1", "bundle/9223372036854775807", "parcel/7"]) func namesAreReadAsWritten(name: String) {
        #expect((BundleID(name)?.description ?? ParcelID(name)?.description) == name)
    }

    @Test(arguments: ["", "bundle/", "bundle/0", "bundle/-1", "bundle/+1", "bundle/01", "parcel/1/2", "Parcel/1", "7"])
    func whatIsNoNameIsNone(name: String) {
        #expect(BundleID(name) == nil)
        #expect(ParcelID(name) == nil)
    }
}
