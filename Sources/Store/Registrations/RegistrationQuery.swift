package import PushModel

/// Which registrations to list.
package struct RegistrationQuery: Sendable {
    package var app: AppID
    /// The only one, in whatever state; nil = all that the rest selects.
    package var id: RegistrationID?
    package var user: UserName?
    package var tag: Tag?
    package var pns: PushService?
    package var kinds: [RegistrationKind] = [.native]
    /// Those that are live and have one of these handles; nil = any.
    package var handles: [Handle]?
    /// nil = all but the deleted.
    package var state: Registration.State?
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    package init(
        app: AppID,
        id: RegistrationID? = nil,
        user: UserName? = nil,
        tag: Tag? = nil,
        pns: PushService? = nil,
        handles: [Handle]? = nil,
        state: Registration.State? = nil,
        cursor: String? = nil,
        limit: Int = 100
    ) {
        self.app = app
        self.id = id
        self.user = user
        self.tag = tag
        self.pns = pns
        self.handles = handles
        self.state = state
        self.cursor = cursor
        self.limit = limit
    }
}
