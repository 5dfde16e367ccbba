import HTTP2Engine
import PushModel

extension HotPath {
    static let batchEncoding = HotPath(name: "batch encoding", devices: Sample.devices) { times in
        let message = DeliveryMessage(batches: [Sample.batch()])
        var sum = 0
        for _ in 0..<times { sum &+= message.encoded().count }
        return sum
    }

    static let batchDecoding = HotPath(name: "batch decoding", devices: Sample.devices) { times in
        let bytes = DeliveryMessage(batches: [Sample.batch()]).encoded()
        var sum = 0
        for _ in 0..<times {
            // Cannot fail: the bytes are our own; a 0 in the result would show it.
            sum &+= (try? DeliveryMessage(decoding: bytes).batches[0].devices.handles.bytes.count) ?? 0
        }
        return sum
    }
}

/// What the paths work on.
enum Sample {
    static let devices = 1000

    static let job = JobID(high: 0x0193_4F2A_7B3C_7D41, low: 0x8A5B_0123_4567_89AB)

    static func handles() -> HandleList {
        let digits = Array("0123456789abcdef".utf8)
        var handles = HandleList()
        for device in 0..<Self.devices {
            handles.append((0..<64).map { digits[(device &* 2_654_435_761 &+ $0 &* $0 &* 7) >> 3 & 15] })
        }
        return handles
    }

    static func batch() -> DeliverBatch {
        var devices = DeliverBatch.Devices()
        devices.rows = (1...Int64(Self.devices)).map { $0 * 3 }
        devices.handles = Self.handles()
        return DeliverBatch(
            app: .default,
            key: BatchKey(job: Self.job, pns: .apns, page: 7, attempt: 0),
            priority: .normal,
            expires: Timestamp(milliseconds: 1_800_000_000_000),
            keepUntil: nil,
            collapse: nil,
            payload: NativePayload(kind: .alert, body: Array(#"{"aps":{"alert":"Something happened"}}"#.utf8)),
            devices: devices
        )
    }
}
