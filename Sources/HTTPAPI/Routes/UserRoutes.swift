import HTTPTypes
import Hummingbird
import Intake
import PushModel
import PushlineLogging
import Store
import WebServing

/// Users, whom the app knows by their devices: they are removed with all that there is of them.
struct UserRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] { [Route(.delete, "/api/users/{user}", handler: self.remove)] }

    /// Has a user removed by a register job, which is answered with: also by the one that is under way.
    private func remove(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        guard caller.actsForApp else {
            throw Problem.forbidden("only a backend's key or an operator may remove a user")
        }
        _ = try AccountRoutes.isMeant(request)
        guard let user = try? request.parameters["user"].map({ try UserName($0, request.spec.users) }) else {
            throw Problem.notFound("no user can have that name")
        }
        try AccountRoutes.protect(user, request)
        let answer = try await self.take(user, request)
        self.context.directory.forget(user, app: request.app)
        guard caller.maySee(answer.job) else {
            throw Problem(.conflict, "another caller's job is already removing this user")
        }
        return answer.response(isDone: answer.isAwaited, prefix: request.prefix)
    }

    private func take(_ user: UserName, _ request: APIRequest) async throws -> JobAnswer {
        let caller = try request.caller
        let act = try self.context.newAct(.userRemove, user: user, request)
        let job = NewJob(
            app: request.app,
            // It forgets the name, also where that is who asks.
            user: caller.user == user ? nil : caller.user,
            key: caller.key,
            work: .register(.removeUser(user, withAccount: caller.role == .operator)),
            lifetime: NewJob.removalLifetime,
            request: LogContext.request,
            // Also of a backend's key: nothing is to be more of an operator's than this.
            act: act
        )
        do {
            return try await self.context.intake.take(
                job,
                JobWait(request, for: job.work, self.context.configuration)
            )
        } catch {
            await self.context.note(refusal: error, of: act)
            guard (error as? StoreError)?.code == .conflict else { throw error }
            throw Problem.forbidden("an account has that name: only an operator may remove the user")
        }
    }
}
