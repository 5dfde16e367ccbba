/// Why all messages of an app to a push service wait.
package enum BreakerCause: String, Sendable, CaseIterable {
    /// The service answers with its own failure, or not at all.
    case service
    /// It refuses the app's credentials, or there are none that work.
    case credentials
    /// It calls nearly all tokens bad: they are of another environment or app, perhaps, or the service errs; registrations must not be
    /// pruned for it.
    case tokens
}

/// What work waits for, as it is kept: a code where programs tell it apart, and a text.
package struct WaitReason: Sendable, Equatable {
    /// nil = it waits for something else than a breaker.
    package let cause: BreakerCause?
    /// What people are shown.
    package let text: String

    package init(_ text: String, cause: BreakerCause? = nil) {
        self.cause = cause
        self.text = text
    }

    /// The app's credentials cannot be used.
    ///
    /// Senders read it too: the names of files are for the log and for doctor, on the host.
    package init(unusableCredentialsAt pns: PushService, with credential: CredentialName = .default) {
        let name = credential.named.map { "credential \($0)" } ?? "credentials"
        self.init(
            "the app's \(pns.descriptor.title) \(name) cannot be read; its operator must act (pushline doctor says what is wrong)"
        )
    }

    /// What reasons call an app's hub over a wire.
    package static let hubTitle = "the app's hub"

    /// The app's hub cannot be asked.
    package static let unusableHub = WaitReason(
        "the connection string of \(Self.hubTitle) cannot be read; its operator must act (pushline doctor says what is wrong)"
    )

    /// What a breaker waits for.
    ///
    /// - Parameters:
    ///   - cause: Why it is open.
    ///   - pns: The push service; nil = the app's hub.
    ///   - credential: Which of the app's credentials it is about.
    ///   - answer: What the service said.
    package init(
        _ cause: BreakerCause,
        at pns: PushService?,
        with credential: CredentialName = .default,
        _ answer: String
    ) {
        self.cause = cause
        let title = (pns?.descriptor.title ?? Self.hubTitle) + (credential.named.map { " (credential \($0))" } ?? "")
        self.text =
            switch cause {
            case .service: "\(title) fails: \(answer)"
            case .credentials: "the app's credentials do not work at \(title): \(answer)"
            case .tokens: "\(title) rejects nearly all tokens; no registration is removed: \(answer)"
            }
    }
}
