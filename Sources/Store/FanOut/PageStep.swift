package import PushModel

/// The next pages of a campaign, each with its own delivery message.
package struct PageStep: Sendable {
    /// Names the job within the store.
    package let sequence: Int64
    /// All cursors as they are after this step; the first step of a campaign writes them all.
    package let cursors: [AudienceCursor]
    /// The service whose cursor moves.
    package let pns: PushService
    package let batches: [FanOutPage]

    package init(sequence: Int64, cursors: [AudienceCursor], pns: PushService, batches: [FanOutPage]) {
        self.sequence = sequence
        self.cursors = cursors
        self.pns = pns
        self.batches = batches
    }
}

/// A batch before it is a message: the rows in `(from, to]`.
package struct FanOutPage: Sendable, Equatable {
    package let page: Int
    package let from: Int64
    package let to: Int64
    /// How many devices it had when it was read.
    package let size: Int
    /// How many of them have each credential but the default one.
    package let named: [CredentialName: Int]
    /// The number of the template that all of them have; nil = of none.
    package let template: Int64?

    package init(
        page: Int,
        from: Int64,
        to: Int64,
        size: Int,
        named: [CredentialName: Int] = [:],
        template: Int64? = nil
    ) {
        self.page = page
        self.from = from
        self.to = to
        self.size = size
        self.named = named
        self.template = template
    }
}
