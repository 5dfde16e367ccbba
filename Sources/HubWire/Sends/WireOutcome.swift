import PushModel

/// What became of a test send, device by device: the body of its answer.
package struct WireOutcome: Sendable, Equatable {
    /// What became of one device.
    package struct Result: Sendable, Equatable {
        package let platform: WirePlatform
        package let handle: String
        package let registration: String
        /// In words, as no client reads them.
        package let outcome: String
        /// nil = it is not known yet.
        package let isSuccess: Bool?

        package init(
            platform: WirePlatform,
            handle: String,
            registration: String,
            outcome: String,
            isSuccess: Bool?
        ) {
            self.platform = platform
            self.handle = handle
            self.registration = registration
            self.outcome = outcome
            self.isSuccess = isSuccess
        }
    }

    package let results: [Result]

    package init(_ results: [Result]) { self.results = results }

    /// The XML, in the order that clients of .NET rely on.
    package var bytes: [UInt8] {
        XMLTree(
            "NotificationOutcome",
            attributes: [.init("xmlns", WireNames.connect), .init("xmlns:i", WireNames.instance)],
            elements: [
                XMLTree("Success", text: String(self.results.count { $0.isSuccess == true })),
                XMLTree("Failure", text: String(self.results.count { $0.isSuccess == false })),
                XMLTree("Results", elements: self.results.map(Self.element)),
            ]
        ).bytes
    }

    private static func element(_ result: Result) -> XMLTree {
        XMLTree(
            "RegistrationResult",
            elements: [
                XMLTree("ApplicationPlatform", text: result.platform.formatName),
                XMLTree("PnsHandle", text: result.handle), XMLTree("RegistrationId", text: result.registration),
                XMLTree("Outcome", text: result.outcome),
            ]
        )
    }
}
