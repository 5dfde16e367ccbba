import HTTPTypes
import Hummingbird
import Intake
import PushModel
import Store
import WebServing

/// Dead letters by what they have in common, and many of them at a time.
struct DeadLetterBulkRoutes: Sendable {
    let context: RouteContext

    /// The most that a request replays or discards.
    private static let most = 1000
    /// Of these at a time: commits that come together are one.
    private static let width = 16
    /// The most refusals that an answer names.
    private static let shown = 20

    var routes: [Route] {
        [
            Route(.get, "/api/dead/groups", handler: self.groups),
            Route(.post, "/api/dead/replay", body: .limited, handler: self.replay),
            Route(.post, "/api/dead/discard", body: .limited, handler: self.discard),
        ]
    }

    private func groups(_ request: APIRequest) async throws -> Response {
        try request.caller.requireSeeingAll()
        _ = try request.query.strict(known: [])
        var groups = DeadLetterGroups()
        var query = DeadLetterQuery(app: request.app, limit: 1000)
        repeat {
            let page = try await self.context.store.deadLetters(query)
            groups.add(page.items)
            query.cursor = page.cursor
        } while query.cursor != nil && groups.looked < DeadLetterGroups.most
        return .json(groups.json(isComplete: query.cursor == nil))
    }

    private func replay(_ request: APIRequest) async throws -> Response {
        let filter = try DeadLetterFilter(request)
        let answer = try await self.context.longAct(.deadReplay, target: filter.words, request) {
            let part = try await self.part(filter, request)
            let results = try await part.items.inParallel(Self.width) { letter in
                (letter.id, try await self.context.store.replay(deadLetter: letter.id, app: request.app))
            }
            var (replayed, refusals) = (0, [(id: Int64, reason: String)]())
            for (id, result) in results {
                switch result {
                case .begun(let job, _):
                    replayed += 1
                    self.context.monitor.forget(job)
                case .refused(let reason): refusals.append((id, reason))
                // Somebody else did.
                case nil: break
                }
            }
            let (done, refused) = (replayed, refusals.sorted { $0.id > $1.id })
            return (
                done,
                JSONValue.members([
                    "replayed": .integer(done), "refused": .integer(refused.count),
                    "refusals": .array(
                        refused.prefix(Self.shown).map {
                            .members(["id": .string(String($0.id)), "reason": .string($0.reason)])
                        }
                    ), "left": .integer(part.left), "next": part.next.map { .string(String($0)) },
                    "isComplete": .bool(part.isComplete),
                ])
            )
        } result: {
            "\($0.0) replayed"
        }
        return .json(answer.1)
    }

    private func discard(_ request: APIRequest) async throws -> Response {
        let filter = try DeadLetterFilter(request)
        let answer = try await self.context.longAct(.deadDiscard, target: filter.words, request) {
            let part = try await self.part(filter, request)
            let results = try await part.items.inParallel(Self.width) { letter in
                try await self.context.store.discard(deadLetter: letter.id, app: request.app) != nil
            }
            let discarded = results.count { $0 }
            return (
                discarded,
                JSONValue.members([
                    "discarded": .integer(discarded), "left": .integer(part.left),
                    "next": part.next.map { .string(String($0)) }, "isComplete": .bool(part.isComplete),
                ])
            )
        } result: {
            "\($0.0) discarded"
        }
        return .json(answer.1)
    }

    /// Some dead letters that a filter finds, and how many are left behind them.
    private struct Part {
        var items: [DeadLetter] = []
        var left = 0
        /// The number behind which the rest begins.
        var next: Int64?
        /// Whether all that are left are counted.
        var isComplete = true
    }

    private func part(_ filter: DeadLetterFilter, _ request: APIRequest) async throws -> Part {
        var (part, looks) = (Part(), 0)
        var query = filter.query(of: request.app)
        repeat {
            let page = try await self.context.store.deadLetters(query)
            let room = Self.most - part.items.count
            part.items += page.items.prefix(room)
            part.left += max(0, page.items.count - room)
            query.cursor = page.cursor
            looks += 1
        } while query.cursor != nil && looks < DeadLetterGroups.most / query.limit
        part.isComplete = query.cursor == nil
        if part.left > 0 || !part.isComplete { part.next = part.items.last?.id }
        return part
    }
}

/// What the dead letters of a request have in common.
private struct DeadLetterFilter {
    let queue: String?
    let type: String?
    let reason: String?
    let upTo: Int64

    /// - Throws: ``Problem`` 403 for others than operators; 400 where nothing is asked for, or no last number: what arrives meanwhile is
    ///   to stay.
    init(_ request: APIRequest) throws {
        try request.caller.requireOperator()
        _ = try request.query.strict(known: [])
        let names = ["queue", "type", "reason"]
        let members = try StrictMembers(request.json(), known: names + ["upTo", "after"])
        (self.queue, self.type) = (try members.string("queue"), try members.string("type"))
        self.reason = try members.string("reason")
        guard self.queue != nil || self.type != nil || self.reason != nil else {
            throw members.fault("", "must have one of queue, type and reason")
        }
        func number(_ name: String) throws -> Int64? {
            guard let text = try members.string(name) else { return nil }
            guard let number = Int64(text), number > 0, String(number) == text else {
                throw members.fault(name, "must be the number of a dead letter, as a string")
            }
            return number
        }
        guard let upTo = try number("upTo") else { throw members.fault("upTo", "is required") }
        self.upTo = min(upTo, try number("after").map { $0 - 1 } ?? .max)
    }

    func query(of app: AppID) -> DeadLetterQuery {
        var query = DeadLetterQuery(app: app, limit: 1000)
        (query.queue, query.type, query.reason, query.upTo) = (self.queue, self.type, self.reason, self.upTo)
        return query
    }

    /// In a few words.
    ///
    /// Of the reason those before a colon: what stands behind one may be somebody else's, such as a name.
    var words: String {
        let reason = self.reason.map { String($0.prefix { $0 != ":" }.prefix(100)) }
        let words = [self.queue, self.type, reason].compactMap(\.self)
        return ActQuery.OfJob.group + "\(words.joined(separator: ", ").prefix(200)), up to \(self.upTo)"
    }
}

/// Dead letters by queue, type and reason.
struct DeadLetterGroups {
    /// The most that are looked at.
    static let most = 20_000
    /// The most groups that are shown.
    private static let shown = 200

    private struct Key: Hashable {
        let queue: String
        let type: String
        let reason: String
    }

    private struct Group {
        var count = 0
        var replayable = 0
        /// The first that was seen is the newest.
        let newest: DeadLetter
        var oldest: DeadLetter
    }

    private(set) var looked = 0
    private var highest: Int64?
    private var groups: [Key: Group] = [:]

    /// Adds a page of a list, newest first.
    mutating func add(_ letters: [DeadLetter]) {
        self.looked += letters.count
        self.highest = self.highest ?? letters.first?.id
        for letter in letters {
            let key = Key(queue: letter.queue, type: letter.type, reason: letter.reason)
            var group = self.groups[key] ?? Group(newest: letter, oldest: letter)
            group.count += 1
            if letter.blockedReason == nil { group.replayable += 1 }
            group.oldest = letter
            self.groups[key] = group
        }
    }

    func json(isComplete: Bool) -> JSONValue {
        let sorted = self.groups.sorted { ($1.value.count, $1.value.newest.id) < ($0.value.count, $0.value.newest.id) }
        let items = sorted.prefix(Self.shown).map { key, group in
            JSONValue.members([
                "queue": .string(key.queue), "type": .string(key.type), "reason": .string(key.reason),
                "count": .integer(group.count), "replayable": .integer(group.replayable),
                "oldest": .string(group.oldest.at.iso8601), "newest": .string(group.newest.at.iso8601),
                "example": .string(String(group.newest.id)),
            ])
        }
        return .members([
            "items": .array(items), "upTo": self.highest.map { .string(String($0)) },
            "isComplete": .bool(isComplete && sorted.count <= Self.shown),
        ])
    }
}
