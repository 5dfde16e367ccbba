import Payloads
import PushModel

extension EmbeddedHub {
    /// The payload for one service, or why the app's devices there cannot be reached at all.
    func payload(
        for pns: PNS,
        request: SendRequest,
        priority: Priority,
        from begin: Timestamp,
        spec: AppSpec
    ) -> Result<NativePayload, Undeliverable> {
        guard pns.isInService else {
            return .failure(
                Undeliverable(failure: .retiredService, reason: "\(pns.rawValue) was switched off by its owner")
            )
        }
        guard spec.hasCredentials(for: pns) else {
            let reason = "the app has no \(pns.rawValue) credentials; declare them with pushline apps apply"
            return .failure(Undeliverable(failure: .misconfigured, reason: reason))
        }
        do {
            let payload = try PayloadFormatter.format(
                request.content,
                for: pns,
                options: request.options(priority, from: begin)
            )
            return .success(payload)
        } catch {
            return .failure(Undeliverable(failure: .rejected, reason: error.description))
        }
    }
}

extension SendRequest {
    /// What the payload tells the push service besides the content.
    fileprivate func options(_ priority: Priority, from begin: Timestamp) -> PayloadFormatter.Options {
        // Counted from acceptance, or the start that was asked for: what is formatted again for a retry has less time left.
        let left = self.timeToLive.map {
            $0 == .zero ? .zero : max(.seconds(1), Timestamp.now.duration(to: begin) + $0)
        }
        return PayloadFormatter.Options(priority: priority, timeToLive: left, collapse: self.collapse)
    }
}

extension AppSpec {
    fileprivate func hasCredentials(for pns: PNS) -> Bool {
        switch pns {
        case .apns: self.apns != nil
        case .fcm: self.fcm != nil
        case .wns: self.wns != nil
        case .mpns: false
        }
    }
}
