package import PushModel
package import Store
import StoreSQL

extension SQLiteStore: RegistrationStore {
    package func register(_ request: RegisterRequest, of job: RegisterJob) async throws -> RegisterResult? {
        if case .removeUser = request { return try await self.removeUser(by: job.sequence) }
        return try await self.write { context in
            let app = try context.database.ensureNumber(of: job.app)
            return try context.register(context.registrations(of: app).register(request, of: job))
        }
    }
}

extension WriteContext {
    func registrations(of app: Int64) -> RegistrationTable {
        RegistrationTable(app: app, clock: self.clock, digest: self.digest)
    }

    /// Makes a change; again once its tags have numbers.
    func register(_ change: SQLTransaction<RegisterResult?>) throws -> RegisterResult {
        while true {
            if let result = try self.perform(change) { return result }
        }
    }
}
