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
    package var since: Timestamp?
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
        since: Timestamp? = nil,
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
        self.since = since
        self.cursor = cursor
        self.limit = limit
    }
}
