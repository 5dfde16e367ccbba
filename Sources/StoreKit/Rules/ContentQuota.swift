package import PushModel
package import Store

/// Whether another content has a place.
package enum ContentQuota {
    /// Checks the quotas.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - own: How many bytes its uploader has.
    ///   - all: How many bytes the app has.
    ///   - quota: The limits.
    /// - Returns: Why it is refused; nil = it has a place.
    package static func refusal(
        of content: StoredContent,
        own: Int,
        all: Int,
        quota: AppSpec.Contents
    ) -> ContentAcceptance? {
        let cost = ContentAcceptance.cost(of: content)
        guard own + cost <= quota.accountBytes else { return .accountIsFull(used: own) }
        return all + cost <= quota.appBytes ? nil : .appIsFull(used: all)
    }
}

/// Whether another rich notification has a place.
package enum RichQuota {
    /// Checks the quotas.
    ///
    /// - Parameters:
    ///   - own: How many the sender has.
    ///   - all: How many the app has.
    ///   - hasRead: Whether one of the sender's is read, and can make room.
    ///   - quota: The limits.
    /// - Returns: Whether that one has to go.
    /// - Throws: ``StoreError/Code/quotaReached``.
    package static func needsRoom(
        own: Int,
        all: Int,
        hasRead: Bool,
        quota: NewRichNotification.Quota
    ) throws(StoreError) -> Bool {
        let isOver = own >= quota.perSender
        guard isOver || all >= quota.perApp else { return false }
        guard !hasRead else { return true }
        let whose =
            isOver
            ? "\(quota.perSender) rich notifications of this account are unread"
            : "\(quota.perApp) rich notifications of the app are stored, and this account has no read one to replace"
        throw StoreError(.quotaReached, "\(whose): the quota is reached until one is read or expires")
    }
}
