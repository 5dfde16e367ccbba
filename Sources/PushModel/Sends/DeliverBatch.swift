/// The work of a delivery worker: one payload, and the devices of one page that are to get it.
///
/// A message holds at most ``maximumDevices`` devices and about ``maximumBytes`` bytes, and all that delivery needs: it reads
/// no registrations.
package struct DeliverBatch: Sendable, Equatable {
    /// The most devices in one message.
    package static let maximumDevices = 1000
    /// The size that a message is kept under, in bytes; a payload of its own size comes on top.
    package static let maximumBytes = 64 * 1024

    /// The ``keepUntil`` of a send with a time to live of 0.
    package static let nowOrNever = Timestamp(milliseconds: 0)

    package let app: AppID
    package let key: BatchKey
    package let priority: Priority
    /// When its job's time is over, for whoever looks at a dead letter; a worker goes by what the store says of the batch.
    package let expires: Timestamp
    /// Until when the push service is to keep the notification for a device that is off; nil = its own default,
    /// ``nowOrNever`` = not at all, and then we try once as well.
    package let keepUntil: Timestamp?
    package let collapse: String?
    package var payload: NativePayload
    package var devices: Devices
    /// Whether no device is to get it (``SendRequest/isDryRun``).
    package let isDryRun: Bool

    package init(
        app: AppID,
        key: BatchKey,
        priority: Priority,
        expires: Timestamp,
        keepUntil: Timestamp?,
        collapse: String?,
        payload: NativePayload,
        devices: Devices,
        isDryRun: Bool = false
    ) {
        self.app = app
        self.key = key
        self.priority = priority
        self.expires = expires
        self.keepUntil = keepUntil
        self.collapse = collapse
        self.payload = payload
        self.devices = devices
        self.isDryRun = isDryRun
    }

    /// Whether a service's own time to live is over: a try would come too late.
    ///
    /// One that is as long as its job's is left to the store, whose clock does not jump.
    package func isLate(at now: Timestamp) -> Bool {
        guard let keepUntil = self.keepUntil, keepUntil != Self.nowOrNever else { return false }
        return keepUntil < self.expires && keepUntil <= now
    }

    /// The devices, field by field.
    package struct Devices: Sendable, Equatable {
        /// Registration rows.
        package var rows: [Int64] = []
        /// Where each is reached, or of a call its ``Target``; empty for a registration that went away since the last try.
        package var handles = HandleList()
        /// How often each was tried before; empty = never, for all.
        package var tries: [UInt8] = []
        /// How long each must wait before it is tried, in milliseconds from the message's publication; empty = not at all.
        package var waits: [UInt32] = []
        /// With which of the app's credentials each is reached.
        package var credentials = DeviceCredentials()

        package init() {}

        package var count: Int { self.rows.count }

        /// The bytes that a device takes in a message, about, whose handle has that length.
        package static func wireSize(handleLength length: Int, isHexadecimal: Bool) -> Int {
            // Row, end of the handle, and the handle; hexadecimal ones travel as two digits a byte.
            12 + (isHexadecimal ? (length + 1) / 2 : length)
        }

        /// How many have each credential but the default one.
        package var named: [CredentialName: Int] { self.credentials.counts(of: self.count) }

        package func tries(at index: Int) -> Int { self.tries.isEmpty ? 0 : Int(self.tries[index]) }
        package func wait(at index: Int) -> Duration {
            self.waits.isEmpty ? .zero : .milliseconds(Int64(self.waits[index]))
        }
    }
}

/// Names a batch and its attempt: the fence of the accounting (rules 2 and 3).
package struct BatchKey: Hashable, Sendable, CustomStringConvertible {
    package let job: JobID
    package let pns: PushService
    /// Counts the pages of a job and service from 0.
    package let page: Int
    /// Counts the rows of a page, not the tries of a device.
    package let attempt: Int

    package init(job: JobID, pns: PushService, page: Int, attempt: Int) {
        self.job = job
        self.pns = pns
        self.page = page
        self.attempt = attempt
    }

    /// The `message-id` of a deliver message.
    package var description: String { "\(self.job)/\(self.pns.rawValue)/\(self.page)/\(self.attempt)" }

    /// Reads ``description``.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, let job = JobID(String(parts[0])), let pns = PushService(rawValue: String(parts[1])),
            let page = UInt32(parts[2]), let attempt = UInt32(parts[3])
        else { return nil }
        self.init(job: job, pns: pns, page: Int(page), attempt: Int(attempt))
        // One text a key: no `+1`, `007` or upper-case id.
        guard self.description == text else { return nil }
    }
}
