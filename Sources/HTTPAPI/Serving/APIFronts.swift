import Authentication
import Intake
import Logging
import PushModel
import PushlineTracing
import Settings
import Store
import WebServing

/// The API twice: for apps and backends, and for the console, whose cookies work nowhere else.
///
/// Both have the same routes and share all that costs something.
struct APIFronts {
    let context: RouteContext
    let apps: AppDirectory
    let tokens: TokenSignIn
    let failures: SignInFailures
    let watchers: JobWatchers
    let limits: CallerLimits
    let traces: Traces

    /// Answers as that front.
    func responder(_ kind: SessionKind) -> WebResponder<APIFront> {
        let configuration = self.context.configuration
        return WebResponder(
            self.front(kind),
            proxies: configuration.settings.trustedProxies,
            accessLog: configuration.serving.accessLog,
            traces: self.traces,
            logger: self.context.logger
        )
    }

    /// The front with the pages of that kind.
    private func front(_ kind: SessionKind) -> APIFront {
        let (configuration, apps) = (self.context.configuration, self.apps)
        let authenticator = self.authenticator(kind)
        let events = JobEventRoute(watchers: self.watchers, most: configuration.jobWatchers) { request, app in
            guard let spec = try await apps.spec(of: app) else { throw Problem.notFound("no such app") }
            return try await authenticator.caller(request, app: app, spec: spec) { nil }
        }
        let pages: [Route]
        switch kind {
        case .page: pages = configuration.settings.page ? PageRoutes.app.routes : []
        case .console: pages = PageRoutes.console(version: configuration.version).routes
        }
        let sessions = SessionRoutes(context: self.context, authenticator: authenticator)
        return APIFront(
            kind: kind,
            table: RouteTable(API.routes(self.context) + sessions.routes + events.routes + pages),
            limits: self.limits,
            apps: self.apps,
            authenticator: authenticator
        )
    }

    private func authenticator(_ kind: SessionKind) -> Authenticator {
        let (configuration, directory) = (self.context.configuration, self.context.directory)
        return Authenticator(
            directory: directory,
            passwords: self.context.passwords,
            tokens: self.tokens,
            sessions: Sessions(
                kind: kind,
                store: self.context.store,
                directory: directory,
                lifetime: configuration.settings.sessionLifetime,
                idle: configuration.settings.sessionIdle
            ),
            failures: self.failures,
            proxies: configuration.settings.trustedProxies,
            // The console is for those with accounts.
            isLoopback: configuration.isLoopback && kind == .page
        )
    }
}
