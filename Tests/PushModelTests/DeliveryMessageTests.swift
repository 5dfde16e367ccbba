import PushModel
import Testing

@Suite struct DeliveryMessageTests {
    private static func batch(_ number: Int, pns: PushService = .apns, app: AppID = .default) -> DeliverBatch {
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
            payload: NativePayload(kind: pns == .fcm ? .message : .alert, body: Array("{\(number)}".utf8)),
            devices: devices
        )
    }

    @Test(arguments: [1, 2, 500]) func anEncodedMessageIsReadBack(count: Int) throws {
        let message = DeliveryMessage(batches: (0..<count).map { Self.batch($0) })
        #expect(try DeliveryMessage(decoding: message.encoded()) == message)
        let size = message.batches.reduce(5) { $0 + 4 + DeliveryMessage.wireSize(of: $1) }
        #expect(message.encoded().count <= size)
    }

    @Test func capacityIsBoundedInBatchesBytesAndDevices() {
        func taken(_ batch: DeliverBatch) -> Int {
            var capacity = DeliveryMessage.Capacity()
            return (1...1000).first { _ in !capacity.take(batch) }.map { $0 - 1 } ?? 1000
        }
        var batch = Self.batch(1)
        #expect(taken(batch) == DeliveryMessage.maximumBatches)
        for _ in 2...10 {
            batch.devices.rows.append(1)
            batch.devices.handles.append("ab".utf8)
        }
        #expect(taken(batch) == DeliveryMessage.maximumDevices / 10)
        batch.devices.handles.append([UInt8](repeating: 0x61, count: 30_000))
        #expect(taken(batch) == 6)
        // A batch that is larger than a message of several goes alone.
        batch.devices.handles.append([UInt8](repeating: 0x61, count: DeliveryMessage.maximumBytes))
        #expect(taken(batch) == 1)
    }

    @Test func truncatedMessagesAreRefused() throws {
        let bytes = DeliveryMessage(batches: [Self.batch(1), Self.batch(2)]).encoded()
        for length in bytes.indices {
            #expect(throws: MalformedDelivery.self) { try DeliveryMessage(decoding: Array(bytes[..<length])) }
        }
        #expect(throws: MalformedDelivery.self) { try DeliveryMessage(decoding: bytes + [0]) }
    }

    @Test func batchesOfSeveralAppsOrServicesAreRefused() throws {
        let messages = [
            DeliveryMessage(batches: []),
            DeliveryMessage(batches: (0...DeliveryMessage.maximumBatches).map { Self.batch($0) }),
            DeliveryMessage(batches: [Self.batch(1), Self.batch(2, pns: .fcm)]),
            DeliveryMessage(batches: [Self.batch(1), Self.batch(2, app: try AppID("other"))]),
        ]
        for message in messages {
            #expect(throws: MalformedDelivery.self) { try DeliveryMessage(decoding: message.encoded()) }
        }
    }

    @Test func corruptBytesDoNotCrash() throws {
        let bytes = DeliveryMessage(batches: [Self.batch(1), Self.batch(2)]).encoded()
        for index in bytes.indices {
            var broken = bytes
            broken[index] ^= 0xFF
            _ = try? DeliveryMessage(decoding: broken)
        }
    }

    @Test(arguments: [0, 1, 2, 0x82, 0x84]) func otherVersionsAreRefused(version: UInt8) {
        var bytes = DeliveryMessage(batches: [Self.batch(1)]).encoded()
        bytes[0] = version
        let error = #expect(throws: MalformedDelivery.self) { try DeliveryMessage(decoding: bytes) }
        #expect(error?.description.contains("version") == true)
    }

    @Test func aForgedCountAllocatesNoMemory() {
        for count: [UInt8] in [[0, 0, 0, 0], [0xF5, 1, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF]] {
            #expect(throws: MalformedDelivery.self) { try DeliveryMessage(decoding: [DeliveryMessage.version] + count) }
        }
    }
}

@Suite struct MessageIDTests {
    @Test(arguments: [1, 7, Int64.max]) func aMessageIDIsReadBack(number: Int64) {
        let id = MessageID(number: number)
        #expect(id.description == "\(number)")
        #expect(MessageID(id.description) == id)
    }

    @Test(arguments: ["", "0", "-1", "+1", "01", " 1", "1 ", "1/2", "bundle/1", "9223372036854775808", "x"])
    func malformedMessageIDsAreNil(name: String) {
        #expect(MessageID(name) == nil)
    }
}
