package import PushModel

/// A hub behind a network protocol: it takes registrations and sends, and delivers by itself.
///
/// No call is repeated here; whoever calls knows what may be (rule 18).
package protocol WireHub: NotificationHub {
    /// Hands a send over.
    ///
    /// - Returns: The id under which the hub says more; nil = it gives none.
    /// - Throws: ``WireHubError``.
    func take(_ send: WireSend) async throws(WireHubError) -> String?

    /// Says what became of a send that it took.
    ///
    /// - Parameter id: Its id.
    /// - Returns: What is known by now.
    /// - Throws: ``WireHubError``.
    func outcome(of id: String) async throws(WireHubError) -> WireOutcome
}

/// The hubs of apps that have one over a wire.
package protocol WireHubs: Sendable {
    /// An app's hub.
    ///
    /// - Throws: ``HubError`` that says what is wrong with the declaration or its files.
    func hub(_ declaration: AppSpec.AzureHub) throws(HubError) -> any WireHub
}

/// A send for one platform, as a hub takes it.
package struct WireSend: Sendable, Equatable {
    package let payload: NativePayload
    /// For the push service.
    package let headers: [NativePayload.Header]
    package let address: HubAddress
    /// The same for each repetition.
    package let trackingID: String

    package init(
        payload: NativePayload,
        headers: [NativePayload.Header],
        address: HubAddress,
        trackingID: String
    ) {
        self.payload = payload
        self.headers = headers
        self.address = address
        self.trackingID = trackingID
    }
}

/// What a hub says of a send.
package enum WireOutcome: Sendable, Equatable {
    /// Nothing yet.
    case notYet
    /// It never says anything.
    case notOffered
    /// The hub's word for the state, the devices by the hub's word for what became of them, and whether it stays so.
    case known(state: String, devices: [String: Int], isFinal: Bool)
}

/// Why a hub did not take a send, or did not say.
package struct WireHubError: Error, Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// It surely was not taken; later it may be, after the wait that the hub asks for.
        case notTaken(after: Duration?)
        /// It surely was not taken, nor will any other be until somebody acts: the key or the rights are wrong, or there is no such hub.
        case misconfigured
        /// It never will be taken.
        case refused
        /// It may have been taken (rule 18).
        case unknown
    }

    package let kind: Kind
    /// nil = there was no answer.
    package let status: Int?
    package let message: String

    package init(_ kind: Kind, _ message: String, status: Int? = nil) {
        self.kind = kind
        self.status = status
        self.message = message
    }
}
