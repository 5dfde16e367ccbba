import PushModel
import Testing

/// The binary form of a batch, which travels in a message.
@Suite struct DeliverBatchTests {
    /// What stands before the first batch: version, count, and the batch's length.
    private static let head = 1 + 4 + 4

    private static func encoded(_ batch: DeliverBatch) -> [UInt8] { DeliveryMessage(batches: [batch]).encoded() }

    private static func decoded(_ bytes: [UInt8]) throws -> DeliverBatch {
        try DeliveryMessage(decoding: bytes).batches[0]
    }

    /// A message of one batch with these bytes for it.
    private static func message(of batch: some Collection<UInt8>) -> [UInt8] {
        let length = (0..<4).map { UInt8(truncatingIfNeeded: batch.count >> ($0 * 8)) }
        return [DeliveryMessage.version, 1, 0, 0, 0] + length + batch
    }

    static func batch(devices count: Int, again: Bool) throws -> DeliverBatch {
        var devices = DeliverBatch.Devices()
        for index in 0..<count {
            devices.rows.append(Int64(index) * 7 - 3)
            devices.handles.append(index % 5 == 4 ? "".utf8 : "token-é-\(index)".utf8)
            if again {
                devices.tries.append(UInt8(index % 256))
                devices.waits.append(UInt32(index) * 1000)
            }
        }
        return DeliverBatch(
            app: try AppID("shop"),
            key: BatchKey(job: .make(), pns: again ? .wns : .apns, page: 12, attempt: again ? 3 : 0),
            priority: again ? .low : .high,
            expires: Timestamp(milliseconds: 1_800_000_000_123),
            keepUntil: again ? DeliverBatch.nowOrNever : nil,
            collapse: again ? "key" : nil,
            payload: NativePayload(
                kind: again ? .toast : .alert,
                headers: again ? [.init("X-WNS-Tag", "tag"), .init("X-WNS-TTL", "60")] : [],
                body: Array("{\"a\":\"é\"}".utf8)
            ),
            devices: devices,
            isDryRun: again
        )
    }

    @Test(arguments: [0, 1, 17, 1000], [false, true]) func roundTrip(devices: Int, again: Bool) throws {
        let batch = try Self.batch(devices: devices, again: again)
        #expect(try Self.decoded(Self.encoded(batch)) == batch)
    }

    @Test(arguments: [["00ff", "", "a1b2c3"], ["00ff", "abc"], ["00FF", "a1"], [], ["zz"]])
    func hexadecimalAPNsTokensArePacked(handles: [String]) throws {
        var batch = try Self.batch(devices: 0, again: false)
        batch.devices.rows = handles.indices.map { Int64($0) }
        batch.devices.handles = HandleList(handles.map(Handle.init(stored:)))
        #expect(try Self.decoded(Self.encoded(batch)) == batch)
    }

    @Test func anEncodedBatchFitsTheMaximum() throws {
        let batch = try Self.batch(devices: DeliverBatch.maximumDevices, again: true)
        #expect(Self.encoded(batch).count < DeliverBatch.maximumBytes)
    }

    @Test(arguments: [false, true]) func everyTruncationIsMalformed(again: Bool) throws {
        let bytes = Self.encoded(try Self.batch(devices: 9, again: again)).dropFirst(Self.head)
        for length in 0..<bytes.count {
            #expect(throws: MalformedDelivery.self) { try Self.decoded(Self.message(of: bytes.prefix(length))) }
        }
        #expect(throws: MalformedDelivery.self) { try Self.decoded(Self.message(of: bytes + [0])) }
    }

    /// Any one byte changed: either it is refused, or it is a batch that writes back what was read.
    @Test func aChangedByteIsRefusedOrReadsAsAValidBatch() throws {
        let bytes = Self.encoded(try Self.batch(devices: 5, again: true))
        for index in bytes.indices {
            for change: UInt8 in [1, 0x80, 0xFF] {
                var changed = bytes
                changed[index] ^= change
                guard let batch = try? Self.decoded(changed) else { continue }
                #expect(batch.devices.handles.count == batch.devices.count)
                #expect(try Self.decoded(Self.encoded(batch)) == batch)
            }
        }
    }

    @Test func randomBytesNeverCrash() throws {
        let start = Self.encoded(try Self.batch(devices: 3, again: true)).dropFirst(Self.head)
        for round in 0..<20_000 {
            let kept = round % 2 == 0 ? 0 : Int.random(in: 0...start.count)
            let bytes = start.prefix(kept) + (0..<Int.random(in: 0...120)).map { _ in UInt8.random(in: 0...255) }
            if let batch = try? Self.decoded(Self.message(of: bytes)) {
                #expect(batch.devices.handles.count == batch.devices.count)
            }
        }
    }

    @Test func aForgedCountAllocatesNoMemory() throws {
        var bytes = Self.encoded(try Self.batch(devices: 0, again: false))
        // The count and the empty handles' length are the last eight bytes.
        bytes.replaceSubrange(bytes.count - 8..<bytes.count, with: [UInt8](repeating: 0xFF, count: 8))
        #expect(throws: MalformedDelivery.self) { try Self.decoded(bytes) }
    }

    @Test func outOfRangeTimesAreRefused() throws {
        let batch = DeliverBatch(
            app: .default,
            key: BatchKey(job: JobID(high: 1, low: 2), pns: .wns, page: 0, attempt: 0),
            priority: .normal,
            expires: Timestamp(milliseconds: 5),
            keepUntil: Timestamp(milliseconds: .min),
            collapse: nil,
            payload: NativePayload(kind: .toast, body: []),
            devices: DeliverBatch.Devices()
        )
        #expect(throws: MalformedDelivery.self) { try Self.decoded(Self.encoded(batch)) }
    }

    @Test(arguments: PushService.allCases.flatMap(\.descriptor.kinds))
    func everyKindTravels(kind: NativePayload.Kind) throws {
        let batch = DeliverBatch(
            app: .default,
            key: BatchKey(job: JobID(high: 1, low: 2), pns: kind.pns, page: 0, attempt: 0),
            priority: .normal,
            expires: Timestamp(milliseconds: 5),
            keepUntil: nil,
            collapse: nil,
            payload: NativePayload(kind: kind, body: [1]),
            devices: DeliverBatch.Devices()
        )
        let read = try Self.decoded(Self.encoded(batch))
        #expect(read == batch && read.payload.kind.name == kind.name)
    }

    @Test func aKindOfAnotherServiceIsRefused() throws {
        var batch = try Self.batch(devices: 1, again: true)
        batch.payload = NativePayload(kind: .widgets, body: [1])
        #expect(throws: MalformedDelivery.self) { try Self.decoded(Self.encoded(batch)) }
    }

    @Test(
        arguments: [
            [("", "x")], [("a b", "x")], [("a:", "x")], [("a", "")], [("a", "x\r\ny: z")], [("a", " x")], [("a", "é")],
            [("a", "x"), ("a", "y")],
        ]
    )
    func headersThatCannotBeSentAreRefused(headers: [(String, String)]) throws {
        var batch = try Self.batch(devices: 1, again: false)
        batch.payload = NativePayload(
            kind: .alert,
            headers: headers.map { NativePayload.Header($0.0, $0.1) },
            body: [1]
        )
        #expect(throws: MalformedDelivery.self) { try Self.decoded(Self.encoded(batch)) }
    }

    @Test func flagsOfAnotherVersionAreRefused() throws {
        var bytes = Self.encoded(try Self.batch(devices: 1, again: false))
        bytes[Self.head] |= 0x80
        #expect(throws: MalformedDelivery.self) { try Self.decoded(bytes) }
    }

    /// What a worker of this version writes, a worker of the next must read.
    @Test func theWireFormDoesNotChange() throws {
        var devices = DeliverBatch.Devices()
        devices.rows = [1, -1]
        devices.handles = HandleList(["ab", "c"].map(Handle.init(stored:)))
        let batch = DeliverBatch(
            app: .default,
            key: BatchKey(job: JobID(high: 1, low: 2), pns: .fcm, page: 3, attempt: 4),
            priority: .normal,
            expires: Timestamp(milliseconds: 5),
            keepUntil: nil,
            collapse: "k",
            payload: NativePayload(kind: .message, body: [6, 7]),
            devices: devices
        )
        let head: [UInt8] = [2, 7, 0, 0, 0] + Array("default".utf8)
        let key: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0, 4, 0, 0, 0]
        let options: [UInt8] = [1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, UInt8(ascii: "k")]
        let payload: [UInt8] = [1, 2, 0, 0, 0, 6, 7]
        let rows: [UInt8] = [2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 255, count: 8)
        let handles: [UInt8] = [2, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0] + Array("abc".utf8)
        let form = head + key + options + payload + rows + handles
        #expect(Self.encoded(batch) == [0x83, 1, 0, 0, 0, UInt8(form.count), 0, 0, 0] + form)
    }
}

@Suite struct BatchKeyTests {
    @Test func roundTrip() throws {
        let key = BatchKey(
            job: JobID(high: 0x0190_0000_0001_7ABC, low: 0x8000_0000_0000_00FF),
            pns: .wns,
            page: 12,
            attempt: 3
        )
        #expect(key.description == "01900000-0001-7abc-8000-0000000000ff/wns/12/3")
        #expect(BatchKey(key.description) == key)
    }

    @Test(arguments: [
        "", "/", "///", "01900000-0001-7abc-8000-0000000000ff", "01900000-0001-7abc-8000-0000000000ff/wns/12",
        "01900000-0001-7abc-8000-0000000000ff/wns/12/3/", "01900000-0001-7abc-8000-0000000000ff/gcm/12/3",
        "01900000-0001-7abc-8000-0000000000ff/wns/-1/3", "01900000-0001-7abc-8000-0000000000ff/wns/+1/3",
        "01900000-0001-7abc-8000-0000000000ff/wns/01/3", "01900000-0001-7abc-8000-0000000000ff/wns/1/4294967296",
        "01900000-0001-7abc-8000-0000000000FF/wns/1/3", "x/wns/1/3",
    ])
    func refusesOtherTexts(text: String) {
        #expect(BatchKey(text) == nil)
    }
}
