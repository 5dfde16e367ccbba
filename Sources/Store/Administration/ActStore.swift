package import PushModel

/// What operators have done: an entry for each act, kept for a year (decision 48).
///
/// An act of one commit writes its entry in that commit (``NewAct/current``), so that one is there without the other never. Acts of several
/// commits write that they begin, and behind the last commit how they ended: one whose process died stays begun. Nobody changes an entry
/// otherwise, but that the removal of a user puts a digest in the name's place.
package protocol ActStore: Sendable {
    /// Writes an entry, or the end of one.
    ///
    /// - Parameter entry: What is to be written.
    /// - Returns: The entry's number.
    /// - Throws: ``StoreError``.
    @discardableResult
    func record(_ entry: ActEntry) async throws -> Int64

    /// Acts, newest first; a page may be short where few of many are asked for.
    ///
    /// - Throws: ``StoreError``.
    func acts(_ query: ActQuery) async throws -> Page<Act>
}

/// What is written of an act.
package enum ActEntry: Sendable {
    /// A new entry: of an act that begins, or of one that has its end already.
    case new(NewAct, Act.State, result: String? = nil)
    /// The end of an act that has begun; one that has ended stays as it is.
    case end(Int64, Act.State, result: String? = nil)
}

/// An act, as its entry is to say it: who, what, to what, from where.
///
/// It holds no secret, no handle, and nothing of a message; names of users stand in ``by`` and ``user`` alone.
package struct NewAct: Sendable, Equatable {
    /// The act that the next change of this task is: its entry is written in the change's own commit.
    @TaskLocal package static var current: NewAct?

    /// The app that it is about; nil = the host, or all apps.
    package let app: AppID?
    /// Who did it, with its kind: `account:`, `key:`, or `host:` with the name of the host's user.
    package let by: String
    package let via: ActVia
    /// The client's address, or the host's name.
    package let origin: String
    package let kind: ActKind
    /// The user that it is about.
    package let user: UserName?
    /// What it was done to, in a few words.
    package let target: String?
    /// The request that asked for it.
    package let request: RequestID?

    package init(
        app: AppID?,
        by: String,
        via: ActVia,
        origin: String,
        kind: ActKind,
        user: UserName? = nil,
        target: String? = nil,
        request: RequestID? = nil
    ) {
        self.app = app
        self.by = by
        self.via = via
        self.origin = origin
        self.kind = kind
        self.user = user
        self.target = target
        self.request = request
    }
}

/// By what way an act came.
package enum ActVia: String, Sendable, CaseIterable {
    /// The API, with a key, a password or a token.
    case api
    /// A session of the console.
    case console
    /// The command line tool, on the store itself.
    case host
}

/// What an act does, such as `queue.pause`; a later Pushline may know more.
package struct ActKind: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let accountAdd = ActKind(rawValue: "account.add")
    package static let accountChange = ActKind(rawValue: "account.change")
    package static let accountRemove = ActKind(rawValue: "account.remove")
    package static let appApply = ActKind(rawValue: "app.apply")
    package static let channelAdd = ActKind(rawValue: "channel.add")
    package static let channelRemove = ActKind(rawValue: "channel.remove")
    package static let consoleLink = ActKind(rawValue: "console.link")
    package static let consoleOpen = ActKind(rawValue: "console.open")
    package static let deadDiscard = ActKind(rawValue: "dead.discard")
    package static let deadReplay = ActKind(rawValue: "dead.replay")
    package static let devicesExport = ActKind(rawValue: "devices.export")
    package static let devicesImport = ActKind(rawValue: "devices.import")
    package static let jobCancel = ActKind(rawValue: "job.cancel")
    package static let keyAdd = ActKind(rawValue: "key.add")
    package static let keyRevoke = ActKind(rawValue: "key.revoke")
    package static let queuePause = ActKind(rawValue: "queue.pause")
    package static let queueResume = ActKind(rawValue: "queue.resume")
    package static let ruleAdd = ActKind(rawValue: "rule.add")
    package static let ruleChange = ActKind(rawValue: "rule.change")
    package static let ruleRemove = ActKind(rawValue: "rule.remove")
    /// A send that somebody wrote on the console; those of backends have their jobs.
    package static let send = ActKind(rawValue: "send")
    package static let storeMigrate = ActKind(rawValue: "store.migrate")
    package static let storeMove = ActKind(rawValue: "store.move")
    package static let storeRestore = ActKind(rawValue: "store.restore")
    package static let userRemove = ActKind(rawValue: "user.remove")

    /// All that this Pushline writes, in the order of their names.
    package static let all = [
        Self.accountAdd, accountChange, accountRemove, appApply, channelAdd, channelRemove, consoleLink, consoleOpen,
        deadDiscard, deadReplay, devicesExport, devicesImport, jobCancel, keyAdd, keyRevoke, queuePause, queueResume,
        ruleAdd, ruleChange, ruleRemove, send, storeMigrate, storeMove, storeRestore, userRemove,
    ]
}

/// An entry, as it is kept.
package struct Act: Sendable, Equatable {
    /// What became of an act.
    package enum State: String, Sendable, CaseIterable {
        /// It was begun; nobody has said how it ended.
        case begun
        case done
        /// Nothing was done.
        case refused
    }

    package let id: Int64
    package let act: NewAct
    package let at: Timestamp
    package let state: State
    /// When it ended.
    package let ended: Timestamp?
    /// What came of it, or why it was refused, in a few words.
    package let result: String?

    package init(id: Int64, act: NewAct, at: Timestamp, state: State, ended: Timestamp?, result: String?) {
        self.id = id
        self.act = act
        self.at = at
        self.state = state
        self.ended = ended
        self.result = result
    }
}

/// Which acts to list.
package struct ActQuery: Sendable {
    /// The app; nil = of all, and of the host.
    package var app: AppID?
    /// By whom, as ``NewAct/by``: one of a few; empty = anybody.
    package var by: [String]
    package var kind: ActKind?
    package var state: Act.State?
    package var since: Timestamp?
    /// The send that it was done to.
    package var job: OfJob?
    /// The cursor of the page before.
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    /// A send, as acts name it: by its id, or as one of all that matched, at the time when it ended.
    package struct OfJob: Sendable {
        /// How an entry's target begins that is of all that matched.
        package static let group = "all: "

        package let id: JobID
        /// When it ended; nil = acts on all that matched are not asked for.
        package let finished: Timestamp?

        package init(id: JobID, finished: Timestamp?) { (self.id, self.finished) = (id, finished) }
    }

    /// The kind with which an author's text begins, as in ``NewAct/by``; nil = it is a bare name, which one of each kind may have.
    package static func kind(of author: String) -> String? {
        guard let colon = author.firstIndex(of: ":") else { return nil }
        let kind = String(author[..<colon])
        return ["account", "key", "host", "removed"].contains(kind) ? kind : nil
    }

    package init(
        app: AppID?,
        by: [String] = [],
        kind: ActKind? = nil,
        state: Act.State? = nil,
        since: Timestamp? = nil,
        job: OfJob? = nil,
        cursor: String? = nil,
        limit: Int = 100
    ) {
        self.app = app
        self.by = by
        self.kind = kind
        self.state = state
        self.since = since
        self.job = job
        self.cursor = cursor
        self.limit = limit
    }
}
