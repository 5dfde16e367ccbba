import PushModel
import Store

/// Apps, and who may do what with them.
extension RandomWork {
    mutating func administer() async throws -> [String] {
        let app = self.app()
        let change: AdministrationChange
        switch self.number(0...15) {
        case 0...2: change = .account(try self.account(of: app))
        case 3, 4: change = .key(self.key(of: app))
        case 5: change = .hubRule(self.rule(of: app))
        case 6...8: change = .pause(self.pause())
        case 9: change = .session(self.session(of: app))
        case 10...12: return try await self.openSession(of: app)
        default: change = .app(app, self.declaration())
        }
        let isChanged = try await self.store.apply(change)
        return [Description.of((change, isChanged))]
    }

    private mutating func account(of app: AppID) throws -> AccountChange {
        let (user, role) = (try self.user(), self.one(of: Role.allCases) ?? .user)
        let hash = "hash\(self.number(0...1))"
        let account = Account(app: app, name: user, role: role, isDisabled: false, created: self.time.wall)
        switch self.number(0...3) {
        case 0: return .put(account, passwordHash: hash)
        case 1: return .add(account, passwordHash: hash)
        case 2:
            let update = AccountUpdate(
                role: role,
                passwordHash: self.chance(50) ? hash : nil,
                isDisabled: self.chance(30)
            )
            return .update(update, account: user, app: app)
        default: return .remove(account: user, app: app)
        }
    }

    private mutating func key(of app: AppID) -> KeyChange {
        let (name, role) = ("key\(self.number(0...9))", self.one(of: Role.allCases) ?? .user)
        guard self.chance(60) else { return .revoke(named: name, app: app) }
        let key = APIKey(app: app, name: name, role: role, created: self.time.wall, revoked: nil)
        return .add(key, hash: Array("\(app) \(name)".utf8))
    }

    private mutating func rule(of app: AppID) -> HubRuleChange {
        let name = "rule\(self.number(0...3))"
        switch self.number(0...2) {
        case 0:
            let rule = HubRule(
                app: app,
                name: name,
                rights: [.send, .listen],
                primaryKey: "p\(self.number(0...9))",
                secondaryKey: "s",
                created: self.time.wall
            )
            return .add(rule)
        case 1: return .replace(.primary, with: "p\(self.number(0...9))", ofRule: name, app: app)
        default: return .delete(named: name, app: app)
        }
    }

    private mutating func pause() -> PauseChange {
        let (queue, app) = (self.one(of: WorkQueue.allCases) ?? .send, self.chance(70) ? self.app() : nil)
        // More end than begin.
        return self.chance(40) ? .begin(queue, app: app, by: "operator") : .end(queue, app: app)
    }

    private mutating func session(of app: AppID) -> SessionChange {
        let hash = [UInt8(self.number(0...9))]
        return self.chance(50) ? .renew(hash: hash, idle: self.seconds(10...1000)) : .end(hash: hash, app: app)
    }

    private mutating func openSession(of app: AppID) async throws -> [String] {
        let hash = [UInt8(self.number(0...9))]
        guard try await self.store.session(hash: hash) == nil else { return [] }
        let session = NewSession(
            app: app,
            user: try self.user(),
            hash: hash,
            passwordHash: self.chance(80) ? "hash\(self.number(0...1))" : nil,
            lifetime: self.seconds(100...10_000),
            idle: self.seconds(10...1000),
            limit: 3
        )
        return [Description.of(try await self.store.openSession(session))]
    }

    /// With a rate limit or without.
    private mutating func declaration() -> AppSpec {
        let rate = self.one(of: [nil, 50, 200])
        let apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "k", keyID: "k", teamID: "t"))
            $0.topic = "t"
            $0.devicesPerSecond = rate ?? nil
        }
        return AppSpec { $0.apns = apns }
    }

    // MARK: Contents

    mutating func keepContent() async throws -> [String] {
        if self.chance(50), let known = self.one(of: self.notifications) {
            let isFirst = try await self.store.markRead(known.id, app: known.app, at: self.time.wall)
            return ["read: \(isFirst)"]
        }
        if self.chance(30), let known = self.one(of: self.contents) {
            return [Description.of(try await self.store.content(known.id, app: known.app))]
        }
        let (app, size) = (self.app(), self.number(0...3000))
        let content = try StoredContent(
            owner: self.chance(70) ? self.user() : nil,
            key: self.chance(50) ? "key" : nil,
            mediaType: "image/png",
            bytes: [UInt8](repeating: UInt8(self.number(0...255)), count: size)
        )
        let quota = AppSpec.Contents {
            $0.accountBytes = 20_000
            $0.appBytes = 40_000
        }
        let acceptance = try await self.store.put(content, app: app, quota: quota)
        guard case .kept(let id) = acceptance else { return [Description.of(acceptance)] }
        self.contents.append((id, app))
        return ["kept"]
    }
}
