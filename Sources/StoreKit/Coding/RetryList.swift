import PushModel
package import Store

/// The devices of a later attempt as the table `batch` keeps them: 14 bytes a device, integers little-endian.
///
/// `row i64 · tries u16 · wait u32`, the wait in milliseconds from the batch's due time.
package enum RetryList {
    private static let width = 14

    /// The least wait, which becomes the batch's due time.
    package static func leastWait(_ devices: [RetryDevice]) -> Duration {
        max(.zero, devices.map(\.wait).min() ?? .zero)
    }

    /// The devices as the table keeps them.
    package static func encode(_ devices: [RetryDevice]) -> [UInt8] {
        let least = self.leastWait(devices).milliseconds
        var bytes: [UInt8] = []
        bytes.reserveCapacity(devices.count * self.width)
        for device in devices {
            let wait = UInt32(clamping: max(0, device.wait.milliseconds - least))
            self.append(device.row, to: &bytes)
            self.append(UInt16(clamping: device.tries), to: &bytes)
            self.append(wait, to: &bytes)
        }
        return bytes
    }

    /// Decodes the output of ``encode(_:)``.
    package static func decode(_ bytes: [UInt8]) throws(StoreError) -> [RetryDevice] {
        guard bytes.count.isMultiple(of: self.width) else { throw StoreError(.corrupt, "a list of devices is cut off") }
        return stride(from: 0, to: bytes.count, by: self.width).map { start in
            RetryDevice(
                row: self.integer(Int64.self, in: bytes, at: start),
                tries: Int(self.integer(UInt16.self, in: bytes, at: start + 8)),
                wait: .milliseconds(Int64(self.integer(UInt32.self, in: bytes, at: start + 10)))
            )
        }
    }

    private static func append<T: FixedWidthInteger>(_ value: T, to bytes: inout [UInt8]) {
        for shift in stride(from: 0, to: T.bitWidth, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> T(shift)))
        }
    }

    private static func integer<T: FixedWidthInteger>(_: T.Type, in bytes: [UInt8], at start: Int) -> T {
        (0..<T.bitWidth / 8).reduce(0) { $0 | T(truncatingIfNeeded: bytes[start + $1]) << T($1 * 8) }
    }
}
