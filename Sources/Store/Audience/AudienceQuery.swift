package import PushModel

/// Asks for a piece of an audience: the devices with rows in `(after, through]`.
package struct AudienceQuery: Sendable {
    /// Of what an audience is.
    package enum Subject: Sendable {
        /// The registrations that an expression selects.
        case expression(TagExpression)
        /// The registrations that the expression of a job selects, of which its send has only the first tags
        /// (``SendRequest/truncatedTags``).
        case tags(ofJob: Int64)
        /// The devices that a job names one by one; their rows are ``Recipient/number``.
        case recipients(ofJob: Int64)
    }

    package var subject: Subject
    package var app: AppID
    package var pns: PushService
    package var kind: RegistrationKind
    /// Only those of these rows that are in the audience, in one answer however many they are; nil = all.
    package var rows: [Int64]?
    /// Only devices that have the template of that number; nil = all.
    package var template: Int64?
    package var after: Int64
    package var through: Int64
    /// The most devices of a page.
    package var limit: Int
    /// What is known of this one audience, and reused for a few seconds; nil = for a single look.
    package var memory: AudienceMemory?

    package init(
        _ subject: Subject,
        app: AppID,
        pns: PushService,
        kind: RegistrationKind = .native,
        rows: [Int64]? = nil,
        after: Int64 = 0,
        through: Int64 = .max,
        limit: Int = DeliverBatch.maximumDevices,
        memory: AudienceMemory? = nil
    ) {
        (self.subject, self.app, self.pns, self.kind) = (subject, app, pns, kind)
        (self.rows, self.after, self.through, self.limit) = (rows, after, through, limit)
        self.memory = memory
    }

    /// The audience of a send.
    ///
    /// Many tags are read only where the audience is: while a send waits for its turn nobody keeps them.
    package init(_ send: SendRequest, job: Int64, app: AppID, pns: PushService, memory: AudienceMemory? = nil) {
        let subject: Subject =
            switch send.audience.expression {
            // A hub over a wire has the expression in its calls.
            case nil: .recipients(ofJob: job)
            case .some where send.truncatedTags > 0: .tags(ofJob: job)
            case let expression?: .expression(expression)
            }
        self.init(subject, app: app, pns: pns, kind: send.content.kind, memory: memory)
    }

    /// The most templates that the devices of one page have: their contents come with it.
    package static let maximumTemplates = 100
}
