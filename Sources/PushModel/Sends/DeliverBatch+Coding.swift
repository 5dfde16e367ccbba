extension DeliverBatch {
    /// Writes the binary form: integers little-endian, texts and byte strings with a length before them.
    ///
    /// `flags u8 · app · job 16 · pns u8 · page u32 · attempt u32 · priority u8 · expires i64 · keepUntil i64 · collapse · kind u8 ·
    /// payload · [headers u8 · (name · value)…] · count u32 · rows i64… · handle ends u32… · handle bytes · tries u8… · waits u32… · [credentials]`
    func write(to writer: inout ByteWriter) {
        var flags: Flags = []
        if self.keepUntil != nil { flags.insert(.keepUntil) }
        if self.collapse != nil { flags.insert(.collapse) }
        if !self.devices.tries.isEmpty { flags.insert(.tries) }
        if !self.devices.waits.isEmpty { flags.insert(.waits) }
        if !self.payload.headers.isEmpty { flags.insert(.headers) }
        if self.isDryRun { flags.insert(.dryRun) }
        if !self.devices.credentials.isEmpty { flags.insert(.credentials) }
        let packed = self.key.pns.descriptor.handle.isHexadecimal ? self.devices.handles.packed() : nil
        if packed != nil { flags.insert(.packed) }
        let handles = packed ?? self.devices.handles
        writer.integer(flags.rawValue)
        writer.text(self.app.name)
        writer.integer(self.key.job.high)
        writer.integer(self.key.job.low)
        writer.integer(UInt8(self.key.pns.number))
        // Numbers of a row that no row has: such a batch is found closed.
        writer.integer(UInt32(clamping: self.key.page))
        writer.integer(UInt32(clamping: self.key.attempt))
        writer.integer(UInt8(self.priority.rank))
        writer.integer(self.expires.milliseconds)
        writer.integer(self.keepUntil?.milliseconds ?? 0)
        writer.text(self.collapse ?? "")
        writer.integer(self.payload.kind.number)
        writer.bytes(self.payload.body)
        if flags.contains(.headers) {
            writer.integer(UInt8(self.payload.headers.count))
            for header in self.payload.headers {
                writer.text(header.name)
                writer.text(header.value)
            }
        }
        writer.integer(UInt32(self.devices.count))
        writer.integers(self.devices.rows)
        writer.integers(handles.ends.lazy.map(UInt32.init))
        writer.bytes(handles.bytes)
        writer.integers(self.devices.tries)
        writer.integers(self.devices.waits)
        if flags.contains(.credentials) { self.devices.credentials.write(to: &writer) }
    }

    /// Reads the whole input.
    ///
    /// - Throws: ``MalformedDelivery`` for anything that ``write(to:)`` does not write: the bytes are untrusted.
    init(reading reader: consuming ByteReader) throws(MalformedDelivery) {
        let flags = Flags(rawValue: try reader.integer())
        guard flags.isSubset(of: .all) else { throw MalformedDelivery("it has flags of another version") }
        guard let app = try? AppID(try reader.text()) else { throw MalformedDelivery("its app has no legal name") }
        let job = JobID(high: try reader.integer(), low: try reader.integer())
        guard let pns = PushService(number: Int(try reader.integer() as UInt8)) else {
            throw MalformedDelivery("its push service is unknown")
        }
        let page: UInt32 = try reader.integer()
        let attempt: UInt32 = try reader.integer()
        let rank: UInt8 = try reader.integer()
        guard let priority = Priority(rank: Int(rank)) else { throw MalformedDelivery("its priority is unknown") }
        let expires = Timestamp(milliseconds: try reader.integer())
        let keepUntil = Timestamp(milliseconds: try reader.integer())
        // A moment before 1970 is none of ours, and time cannot be reckoned from any.
        guard keepUntil.milliseconds >= 0 else { throw MalformedDelivery("it is to be kept until before 1970") }
        let collapse = try reader.text()
        let number: UInt8 = try reader.integer()
        guard let kind = pns.descriptor.kinds.first(where: { $0.number == number }) else {
            throw MalformedDelivery("its payload's kind is unknown")
        }
        let body = try reader.bytes()
        let headers = flags.contains(.headers) ? try Self.headers(&reader) : []
        let payload = NativePayload(kind: kind, headers: headers, body: body)
        let count: UInt32 = try reader.integer()
        // A page that is read again may have grown, so a page's limit is none here; the message's own size is.
        guard Int(count) * 12 <= reader.remaining else {
            throw MalformedDelivery("it has fewer than its \(count) devices")
        }
        var devices = Devices()
        devices.rows = try reader.integers(Int(count))
        let ends = try reader.integers(Int(count)) as [UInt32]
        guard let handles = HandleList(bytes: try reader.bytes(), ends: ends.map(Int.init)) else {
            throw MalformedDelivery("its handles overlap, or there are more than its devices")
        }
        devices.handles = flags.contains(.packed) ? handles.unpacked() : handles
        if flags.contains(.tries) { devices.tries = try reader.integers(Int(count)) }
        if flags.contains(.waits) { devices.waits = try reader.integers(Int(count)) }
        if flags.contains(.credentials) {
            devices.credentials = try DeviceCredentials(reading: &reader, devices: Int(count))
        }
        guard reader.isAtEnd else { throw MalformedDelivery("it goes on behind its end") }
        self.init(
            app: app,
            key: BatchKey(job: job, pns: pns, page: Int(page), attempt: Int(attempt)),
            priority: priority,
            expires: expires,
            keepUntil: flags.contains(.keepUntil) ? keepUntil : nil,
            collapse: flags.contains(.collapse) ? collapse : nil,
            payload: payload,
            devices: devices,
            isDryRun: flags.contains(.dryRun)
        )
    }

    /// The headers, which a forged message must not use to say more than they are for.
    private static func headers(_ reader: inout ByteReader) throws(MalformedDelivery) -> [NativePayload.Header] {
        let count: UInt8 = try reader.integer()
        var headers: [NativePayload.Header] = []
        for _ in 0..<count {
            let header = NativePayload.Header(try reader.text(), try reader.text())
            guard header.isSafe, !headers.contains(where: { $0.name == header.name }) else {
                throw MalformedDelivery("it has a header that cannot be sent")
            }
            headers.append(header)
        }
        guard !headers.isEmpty else { throw MalformedDelivery("it has none of its headers") }
        return headers
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let keepUntil = Flags(rawValue: 1)
        static let collapse = Flags(rawValue: 2)
        static let tries = Flags(rawValue: 4)
        static let waits = Flags(rawValue: 8)
        /// The handles are hexadecimal digits, two in a byte.
        static let packed = Flags(rawValue: 16)
        static let headers = Flags(rawValue: 32)
        static let dryRun = Flags(rawValue: 64)
        static let credentials = Flags(rawValue: 128)
        static let all: Flags = [.keepUntil, .collapse, .tries, .waits, .packed, .headers, .dryRun, .credentials]
    }
}

/// Bytes that are not deliver batch.
package struct MalformedDelivery: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ reason: String) { self.description = "malformed deliver batch: \(reason)" }
}
