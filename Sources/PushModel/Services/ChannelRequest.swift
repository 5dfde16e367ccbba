/// A broadcast channel of APNs.
package struct BroadcastChannel: Codable, Sendable, Equatable {
    /// What a channel keeps for devices that are off; fixed when it is made.
    package enum Storage: String, Codable, Sendable, CaseIterable {
        /// Nothing: Apple allows more pushes then.
        case nothing = "none"
        /// The latest push, for at most 8 hours.
        case latest
    }

    package let id: APNsChannelID
    /// nil = Apple was not asked.
    package let storage: Storage?

    package init(id: APNsChannelID, storage: Storage? = nil) {
        self.id = id
        self.storage = storage
    }
}

/// A request to Apple about the broadcast channels of an app's bundle id, as a register job carries it.
package struct ChannelRequest: Codable, Sendable, Equatable {
    package enum Action: Codable, Sendable, Equatable {
        case create(BroadcastChannel.Storage)
        /// The next ids, in the order of their text.
        case list(after: APNsChannelID?, limit: Int)
        case show(APNsChannelID)
        case delete(APNsChannelID)
    }

    package let action: Action
    /// Whether it changes nothing: then only its caller wants the answer.
    package var isQuestion: Bool {
        switch self.action {
        case .list, .show: true
        case .create, .delete: false
        }
    }
    /// Which of the app's credentials at APNs; nil = the default one.
    package let credential: CredentialName?

    package init(_ action: Action, credential: CredentialName = .default) {
        self.action = action
        self.credential = credential.named
    }
}
