package import PushModel

extension ServiceFormat {
    static let fcm = ServiceFormat(
        service: .fcm,
        isJSON: true,
        reservedNames: FCMPayload.reservedNames,
        write: { content, options throws(InvalidValue) in try FCMPayload.format(content, options: options) },
        reasonToDrop: { _, _ in nil },
        hasCollapse: true,
        headers: { _, _ in PushHeaders.fcm },
        form: .fcm
    )
}

extension PushHeaders {
    /// The headers for FCM; the send's options are in its payload.
    package static let fcm = [NativePayload.Header("content-type", "application/json")]
}
