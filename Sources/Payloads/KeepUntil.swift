package import PushModel

extension SendRequest {
    /// Until when a push service is to keep what it gets, as ``DeliverBatch/keepUntil``: no device is tried after that.
    ///
    /// - Parameters:
    ///   - payload: What the service gets of the send.
    ///   - begins: From when on a time to live counts.
    /// - Returns: What the sender's own form or the device's template says, else the message or the send; nil = the service's default.
    package func keepUntil(_ payload: NativePayload, begins: Timestamp) -> Timestamp? {
        let pns = payload.kind.pns
        let own: NativePayload? =
            switch self.content {
            case .native(let native): native[pns]
            case .template: payload
            case .message, .classic, .rich: nil
            }
        if let own, let end = ServiceFormat.of(pns)?.form.keepUntil(own, begins) { return end }
        return self.timeToLive(for: pns).map { KeepUntil.end(of: $0, from: begins) }
    }
}

/// Until when a form of the sender's own is to be kept.
enum KeepUntil {
    /// The end of a time to live, of which 0 means now or never.
    static func end(of timeToLive: Duration, from begins: Timestamp) -> Timestamp {
        timeToLive == .zero ? DeliverBatch.nowOrNever : begins.advanced(by: timeToLive)
    }

    /// What a header says that has seconds from the send's beginning on.
    static func seconds(_ name: String) -> @Sendable (NativePayload, Timestamp) -> Timestamp? {
        { form, begins in form.header(name).flatMap(Int64.init).map { Self.end(of: .seconds($0), from: begins) } }
    }

    /// What a header says that has seconds since 1970, of which 0 means now or never.
    static func moment(_ name: String) -> @Sendable (NativePayload, Timestamp) -> Timestamp? {
        { form, _ in
            form.header(name).flatMap(Int64.init).map { Timestamp(milliseconds: $0.clampedMultiplied(by: 1000)) }
        }
    }

    private static let ttl = Array("\"ttl\"".utf8)

    /// What `android.ttl` of a message of FCM says, such as `3.5s`: nothing where the message has parts for other platforms, to whose devices
    /// it does not apply.
    @Sendable static func ofFCM(_ form: NativePayload, from begins: Timestamp) -> Timestamp? {
        guard form.body.contains(Self.ttl), case .object(let message)? = try? JSONReader.read(form.body),
            !message.contains(where: { $0.name == "apns" || $0.name == "webpush" }),
            case .object(let android)? = message.first(where: { $0.name == "android" })?.value,
            case .string(let text)? = android.first(where: { $0.name == "ttl" })?.value,
            let seconds = Double(text.dropLast())
        else { return nil }
        return Self.end(of: .milliseconds(Int64(clamping: (seconds * 1000).rounded(.up))), from: begins)
    }
}
