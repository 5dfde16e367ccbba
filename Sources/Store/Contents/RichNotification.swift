package import PushModel

/// A rich notification to store together with its job: neither exists without the other.
package struct NewRichNotification: Sendable {
    /// A positive number that is hard to guess; where the app has one of that id, nothing is accepted
    /// (``StoreError/Code/conflict``).
    package let id: Int32
    package let sender: UserName?
    package let addressee: UserName
    package let message: String
    package let richType: String
    /// The id of its content; nil = the app's default picture.
    package let content: String?
    package let isSecure: Bool
    /// In a full quota the sender's oldest read notification is removed; without one, the job is refused
    /// (``StoreError/Code/quotaReached``).
    package let quota: Quota

    /// The most rich notifications that are kept.
    package struct Quota: Sendable, Equatable {
        package var perSender: Int
        package var perApp: Int

        package init(perSender: Int = .max, perApp: Int = .max) {
            self.perSender = perSender
            self.perApp = perApp
        }
    }

    package init(
        id: Int32 = .random(in: 1...Int32.max),
        sender: UserName?,
        addressee: UserName,
        message: String,
        richType: String,
        content: String?,
        isSecure: Bool,
        quota: Quota = Quota()
    ) {
        self.id = id
        self.quota = quota
        self.sender = sender
        self.addressee = addressee
        self.message = message
        self.richType = richType
        self.content = content
        self.isSecure = isSecure
    }
}

/// A rich notification as it is kept.
package struct RichNotification: Sendable {
    package let id: Int32
    package let sender: UserName?
    package let addressee: UserName
    package let message: String
    package let richType: String
    package let content: String?
    package let isSecure: Bool
    package let created: Timestamp
    /// When its addressee fetched it first.
    package let read: Timestamp?

    package init(
        id: Int32,
        sender: UserName?,
        addressee: UserName,
        message: String,
        richType: String,
        content: String?,
        isSecure: Bool,
        created: Timestamp,
        read: Timestamp?
    ) {
        self.id = id
        self.sender = sender
        self.addressee = addressee
        self.message = message
        self.richType = richType
        self.content = content
        self.isSecure = isSecure
        self.created = created
        self.read = read
    }
}

/// Which rich notifications to list.
package struct RichNotificationQuery: Sendable {
    package var app: AppID
    package var id: Int32?
    package var sender: UserName?
    package var addressee: UserName?
    /// Only those that reference this content.
    package var content: String?
    /// Only those created since then.
    package var since: Timestamp?
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    package init(
        app: AppID,
        id: Int32? = nil,
        sender: UserName? = nil,
        addressee: UserName? = nil,
        content: String? = nil,
        since: Timestamp? = nil,
        cursor: String? = nil,
        limit: Int = 100
    ) {
        self.app = app
        self.id = id
        self.sender = sender
        self.addressee = addressee
        self.content = content
        self.since = since
        self.cursor = cursor
        self.limit = limit
    }
}
