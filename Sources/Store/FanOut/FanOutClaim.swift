package import PushModel

/// The right to fan a message out, until someone claims it later.
package struct FanOutClaim: Sendable {
    /// The message, under the epoch of the claim.
    package let message: OutboxMessage
    /// How often it was claimed, this time included, since its fan-out last came anywhere.
    package let claims: Int
    /// Whether the store knows of the claim; one that only peeked becomes known with its first commit.
    package let isClaimed: Bool
    /// The next work, as far as it is read; a campaign stays here with its cursors as they move.
    package var work: FanOutWork?
    /// The last of its sends that was looked at in this pass, by its number.
    package var position: Int64 = 0
    /// Services that sends which were passed over wait for.
    package var blocked: Set<PushService> = []

    package init(message: OutboxMessage, claims: Int, isClaimed: Bool, work: FanOutWork? = nil) {
        self.message = message
        self.claims = claims
        self.isClaimed = isClaimed
        self.work = work
    }

    /// Whether nobody has claimed the message before: then what was peeked at can be committed.
    package var isFirst: Bool { self.message.epoch <= OutboxMessage.firstTaking && self.claims == 0 }

    /// The claim as it is when something was committed for it.
    package var claimed: FanOutClaim {
        guard !self.isClaimed else { return self }
        var claim = FanOutClaim(
            message: self.message.with(epoch: self.message.epoch + OutboxMessage.claimStep),
            claims: 0,
            isClaimed: true,
            work: self.work
        )
        (claim.position, claim.blocked) = (self.position, self.blocked)
        return claim
    }
}

/// The work of a fan-out.
package enum FanOutWork: Sendable {
    /// Small sends, and the present credit of each of their services.
    case group([SmallSend], credit: [PushService: Credit])
    /// The only send of its message, of any size.
    case campaign(Campaign)
}
