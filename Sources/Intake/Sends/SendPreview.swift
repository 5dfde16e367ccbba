package import Payloads
package import PushModel

/// What a push service would get of a send: made by the functions that make it for real.
package struct SendPreview: Sendable {
    package let service: PushService
    package let credential: CredentialName
    /// The headers that say something of the notification.
    package let headers: [NativePayload.Header]
    /// The payload, also where it is too large; nil = none can be made.
    package let measured: PayloadFormatter.Measured?
    /// Why it would not arrive; empty = it would be sent.
    package let faults: [InvalidValue]

    /// - Parameters:
    ///   - send: The send.
    ///   - service: The service.
    ///   - credential: The credential of the app at that service.
    ///   - begins: When it would go out.
    ///   - spec: The app's declaration.
    package init(
        of send: NewSend,
        at service: PushService,
        _ credential: CredentialName,
        begins: Timestamp,
        spec: AppSpec
    ) {
        self.service = service
        self.credential = credential
        var faults: [InvalidValue] = []
        // A send that names an undeclared credential was refused before.
        if service.isInService, credential == .default, !spec.hasService(service) {
            faults.append(InvalidValue(service.noCredentialsReason()))
        }
        let options = PayloadFormatter.Options(
            send.request,
            for: service,
            priority: send.priority,
            begins: begins,
            now: begins
        )
        do throws(InvalidValue) {
            let measured = try PayloadFormatter.measure(send.request.content, for: service, options: options)
            if let excess = measured.excess { faults.append(excess) }
            self.headers = Self.headers(of: measured.payload, send, credential, begins: begins, spec: spec)
            self.measured = measured
        } catch {
            faults.append(error)
            (self.headers, self.measured) = ([], nil)
        }
        self.faults = faults
    }

    private static func headers(
        of payload: NativePayload,
        _ send: NewSend,
        _ credential: CredentialName,
        begins: Timestamp,
        spec: AppSpec
    ) -> [NativePayload.Header] {
        let pns = payload.kind.pns
        let headers = PushHeaders(
            payload,
            priority: send.priority,
            keepUntil: send.request.keepUntil(payload, begins: begins),
            collapse: send.request.collapse(for: pns),
            now: begins
        )
        return ServiceFormat.of(pns)?.headers(headers, spec.credentials[pns, credential]) ?? []
    }
}
