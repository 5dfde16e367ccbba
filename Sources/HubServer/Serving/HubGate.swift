import HTTPTypes
import HubWire
import PushModel
import Store
import WebServing

/// Lets requests in: finds the app and the rule, and checks the token.
struct HubGate: Sendable {
    private let store: any HubRuleStore
    private let apps: AppDirectory
    /// The rules of each app, remembered for a moment.
    private let rules: ExpiringCache<AppID, [HubRule]>
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - store: Where apps and rules are.
    ///   - lifetime: For how long a change may go unseen.
    ///   - now: The time.
    init(
        store: any AppStore & HubRuleStore,
        lifetime: Duration,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.store = store
        self.apps = AppDirectory(store: store, lifetime: lifetime)
        self.rules = ExpiringCache(lifetime: lifetime, capacity: 10_000)
        self.now = now
    }

    /// A caller that was let in.
    struct Pass: Sendable {
        let app: AppID
        let spec: AppSpec
        let rule: HubRule
    }

    /// Whatever is wrong with a token, its holder learns nothing of it.
    private static let refused = Problem(.unauthorized, "the token is missing or not valid")

    /// Checks the token of a request.
    ///
    /// - Parameters:
    ///   - target: Where it goes.
    ///   - authorization: The header.
    /// - Returns: The caller.
    /// - Throws: ``Problem`` 401 for a hub that does not exist as for a wrong token; `StoreError`.
    func pass(_ target: HubTarget, authorization: String?) async throws -> Pass {
        guard let token = authorization.flatMap(SASToken.init(header:)),
            let app = try? AppID(target.hub.lowercased()), let spec = try await self.apps.spec(of: app),
            let rule = try await self.rules(of: app).first(where: { $0.name == token.rule })
        else { throw Self.refused }
        // Both, so that the time does not say which.
        let isPrimary = token.isSigned(with: rule.primaryKey)
        let isSecondary = token.isSigned(with: rule.secondaryKey)
        guard isPrimary || isSecondary, !token.hasExpired(at: self.now()),
            token.covers(authority: target.authority, path: target.path)
        else { throw Self.refused }
        guard spec.azureHub == nil else {
            throw Problem(.badRequest, "the app's hub is an Azure hub: connect to that one")
        }
        return Pass(app: app, spec: spec, rule: rule)
    }

    /// Refuses what the rule does not allow.
    ///
    /// 401 and not 403, which official clients try again.
    static func check(_ right: HubRule.Right, of rule: HubRule) throws(Problem) {
        guard rule.rights.contains(right) else {
            throw Problem(
                .unauthorized,
                "this needs the right \(right.title); the rule \(rule.name) does not have it"
            )
        }
    }

    private func rules(of app: AppID) async throws -> [HubRule] {
        if let known = self.rules[app] { return known }
        let found = try await self.store.hubRules(app: app)
        self.rules.store(found, for: app)
        return found
    }
}

extension HubRule.Right {
    /// The original's word for it.
    fileprivate var title: String {
        switch self {
        case .listen: "Listen"
        case .send: "Send"
        case .manage: "Manage"
        }
    }
}
