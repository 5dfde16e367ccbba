import PushModel
import SeededRandom
import Store

/// What is accepted.
extension RandomWork {
    mutating func accept() async throws -> [String] {
        let app = self.app()
        var jobs: [NewJob] = []
        for _ in 0..<self.number(1...4) { jobs.append(try self.newJob(of: app)) }
        let open = self.messages.filter { $0.queue == .send && $0.app == app }
        let joined = self.chance(50) ? self.one(of: open)?.id : nil
        let accepted = try await self.store.accept(jobs, joining: joined)
        self.messages += accepted.messages + accepted.deferred
        for case .accepted(let job) in accepted.answers { self.jobs.append(job) }
        for job in jobs { if let notification = job.notification { self.notifications.append((notification.id, app)) } }
        return [Description.of(accepted)]
    }

    private mutating func newJob(of app: AppID) throws -> NewJob {
        let (work, list) = try self.chance(70) ? self.send() : (Job.Work.register(self.change()), nil)
        let isRemoval = if case .register(.removeUser) = work { true } else { false }
        let user = try self.chance(40) && !isRemoval ? self.user() : nil
        let lifetime = isRemoval ? NewJob.removalLifetime : self.seconds(10...4000)
        return try NewJob(
            id: self.job(),
            app: app,
            user: user,
            key: user == nil && self.chance(30) ? "key" : nil,
            priority: self.priority(),
            work: work,
            lifetime: lifetime,
            waiter: self.chance(20) ? "waiter" : nil,
            idempotency: self.chance(20) ? self.idempotency() : nil,
            startsAt: self.chance(10) && !isRemoval ? self.time.wall.advanced(by: self.seconds(1...300)) : nil,
            notification: self.chance(10) && work.kind == .send ? self.notification(by: user) : nil,
            label: self.chance(20) ? JobLabel("label\(self.number(0...2))") : nil,
            recipients: list
        )
    }

    /// A version 7 id.
    private mutating func job() -> JobID {
        let time = UInt64(bitPattern: self.time.wall.milliseconds)
        let (first, second) = (self.random.next(), self.random.next())
        return JobID(high: time << 16 | 0x7000 | first & 0xFFF, low: 0x8000_0000_0000_0000 | second >> 2)
    }

    private mutating func idempotency() -> NewJob.Idempotency {
        let (caller, key) = (self.number(0...1), self.number(0...9))
        return NewJob.Idempotency(
            caller: "account:c\(caller)",
            route: "r",
            key: "k\(key)",
            hash: [UInt8(self.number(0...1))]
        )
    }

    private mutating func notification(by sender: UserName?) throws -> NewRichNotification {
        NewRichNotification(
            id: Int32(self.number(1...(1 << 30))),
            sender: sender,
            addressee: try self.user(),
            message: "m",
            richType: "image",
            content: self.one(of: self.contents.map { _ in "content" }),
            isSecure: self.chance(50),
            quota: .init(perSender: 4, perApp: 12)
        )
    }

    // MARK: Sends

    private mutating func send() throws -> (Job.Work, RecipientList?) {
        var list: RecipientList?
        let audience: SendAudience
        switch self.number(0...10) {
        case 0...3: audience = .tags(.tag(PushModel.Tag(user: try self.user())))
        case 4, 5: audience = .tags(.tag(try self.tag()))
        case 6: audience = .tags(.any([.tag(try self.tag()), .tag(PushModel.Tag(user: try self.user()))]))
        case 7:
            let (one, other) = (try self.tag(), try self.tag())
            audience = .tags(try TagExpression(parsing: "\(one) && !\(other)", .folded))
        case 8:
            let tag = try self.tag()
            audience = try self.chance(50) ? .all : .tags(TagExpression(parsing: "!\(tag)", .folded))
        case 9:
            let devices = try self.list()
            list = devices
            audience = .list(devices.count)
        default:
            let calls = try self.hubCalls()
            list = calls
            audience = .hub(.tag(try self.tag()), calls: calls.count.count)
        }
        let platforms: [PushService] = self.chance(70) ? [] : [self.pns()]
        let send = SendRequest(to: audience, platforms: platforms, content: .message(.init(title: "t", body: "b")))
        return (.send(send), list)
    }

    /// What stands in the places from the first on.
    private mutating func hubCalls() throws -> RecipientList {
        RecipientList(
            handles: try (1...self.number(1...3)).map { place in
                Recipient(place: place, pns: .apns, call: .tag(try Tag("call\(place)", .folded)))
            }
        )
    }

    private mutating func list() throws -> RecipientList {
        guard self.chance(50) else { return RecipientList(handles: self.recipients(1...5)) }
        var ids: [RegistrationID] = []
        for _ in 0..<self.number(1...4) { ids.append(try self.registration()) }
        return RecipientList(registrations: ids)
    }

    private mutating func recipients(_ count: ClosedRange<Int>) -> [Recipient] {
        (1...self.number(count)).map { place in
            let reference = self.chance(50) ? "reference\(place)" : nil
            return Recipient(place: place, pns: self.pns(), handle: self.handle(), reference: reference)
        }
    }

    // MARK: Changes of registrations

    private mutating func change() throws -> RegisterRequest {
        switch self.number(0...19) {
        case 0...8: return .upsert(try self.registration(), try self.upsert())
        case 9...11: return .create(candidate: try self.registration(), try self.upsert())
        case 12: return .issue(candidate: try self.registration(), handles: [self.handle()])
        case 13...15: return .patch(try self.registration(), .init(add: [try self.tag()], remove: [try self.tag()]))
        case 16...18: return .delete(try self.registration())
        default: return .removeUser(try self.user(), withAccount: self.chance(50))
        }
    }

    private mutating func upsert() throws -> RegisterRequest.Upsert {
        var tags: [PushModel.Tag] = []
        for _ in 0..<self.number(0...3) {
            let tag = try self.tag()
            if !tags.contains(tag) { tags.append(tag) }
        }
        let expires = self.chance(20) ? self.time.wall.advanced(by: self.seconds(10...100_000)) : nil
        let onBehalf = try self.chance(20) ? RegisterRequest.OnBehalf(of: self.user()) : nil
        return .init(pns: self.pns(), handle: self.handle(), tags: tags, onBehalf: onBehalf, expires: expires)
    }

    mutating func importSome() async throws -> [String] {
        var rows: [ImportedRegistration] = []
        for _ in 0..<self.number(1...6) {
            let (id, upsert) = (try self.registration(), try self.upsert())
            let user = try self.chance(70) ? self.user() : nil
            guard !rows.contains(where: { $0.id == id || $0.handle == upsert.handle }) else { continue }
            let (pns, handle, tags) = (upsert.pns, upsert.handle, upsert.tags)
            rows.append(
                ImportedRegistration(id: id, pns: pns, handle: handle, user: user, tags: tags, expires: upsert.expires)
            )
        }
        // New ones are numbered in an order that suits the store: in this one by all.
        rows.sort { ($0.user?.key ?? "") < ($1.user?.key ?? "") }
        let app = self.app()
        let imported = try await self.store.importRegistrations(
            rows,
            app: app,
            sequence: nil,
            lifetime: .seconds(500_000)
        )
        return [Description.of((app, imported.results))]
    }
}
