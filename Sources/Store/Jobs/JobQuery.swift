package import PushModel

/// Which jobs to read.
package enum JobSelection: Sendable {
    /// All of these that there are, of that app; nil = of any.
    case ids([JobID], app: AppID?)
    case list(JobQuery)
}

/// Which jobs to list.
package struct JobQuery: Sendable {
    package var app: AppID
    package var state: Job.State?
    package var pns: PushService?
    package var user: UserName?
    package var key: String?
    package var kind: JobKind?
    package var label: JobLabel?
    /// Whether it is for jobs that have not come to their end alone.
    package var isUnfinished: Bool
    /// Whether it is for sends alone of which something failed: a device failed or expired, or the send expired or was abandoned.
    package var hasFailures: Bool
    package var since: Timestamp?
    /// The newest one to list: later ones are left out.
    package var upTo: JobID?
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    package init(
        app: AppID,
        state: Job.State? = nil,
        pns: PushService? = nil,
        user: UserName? = nil,
        key: String? = nil,
        kind: JobKind? = nil,
        label: JobLabel? = nil,
        isUnfinished: Bool = false,
        hasFailures: Bool = false,
        since: Timestamp? = nil,
        upTo: JobID? = nil,
        cursor: String? = nil,
        limit: Int = 100
    ) {
        self.app = app
        self.state = state
        self.pns = pns
        self.user = user
        self.key = key
        self.kind = kind
        self.label = label
        self.isUnfinished = isUnfinished
        self.hasFailures = hasFailures
        self.since = since
        self.upTo = upTo
        self.cursor = cursor
        self.limit = limit
    }
}
