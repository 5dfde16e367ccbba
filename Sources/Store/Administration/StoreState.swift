package import PushModel

/// The waiting work of all apps, and the room for it.
package struct StoreState: Sendable, Equatable {
    /// Jobs that are accepted and not final.
    package let jobs: Int
    /// Dead letters that wait for somebody, counted up to ``mostDead``.
    package let dead: Int
    package let room: StoreRoom

    /// The limit of the count: larger numbers need not be exact.
    package static let mostDead = 10_000

    package init(jobs: Int, dead: Int, room: StoreRoom) {
        self.jobs = jobs
        self.dead = dead
        self.room = room
    }
}

/// What the host knows of the store's files.
package struct StoreRoom: Sendable, Equatable {
    /// nil = unknown.
    package let space: StoreSpace?
    /// When the last backup was made; nil = none was, or by other means.
    package let backup: Timestamp?

    package init(space: StoreSpace?, backup: Timestamp?) {
        self.space = space
        self.backup = backup
    }
}

/// The files of the store, in bytes.
package struct StoreSpace: Sendable, Equatable {
    package let store: Int64
    /// The bytes written and not yet moved into the store's file.
    package let log: Int64
    /// The bytes free on the file system for the process's user.
    package let free: Int64

    package init(store: Int64, log: Int64, free: Int64) {
        self.store = store
        self.log = log
        self.free = free
    }
}
