package import PushModel
package import Store
import StoreSQL

extension PostgreSQLStore: RegistrationStore {
    package func register(_ request: RegisterRequest, of job: RegisterJob) async throws -> RegisterResult? {
        if case .removeUser = request { return try await self.removeUser(by: job.sequence) }
        let table = try await self.table(of: job.app)
        return try await self.change(table.register(request, of: job))
    }

    /// Makes a change, and again once what it names has numbers.
    func change<Value: Sendable>(_ change: SQLTransaction<Value?>) async throws -> Value {
        for _ in 0..<6 {
            if let value = try await self.perform(change) { return value }
        }
        throw StoreError(.corrupt, "what a change names has no number, though it was made")
    }

    /// The registrations of an app.
    func table(of app: AppID) async throws -> RegistrationTable {
        RegistrationTable(app: try await self.number(of: app), clock: self.clock, digest: self.handles)
    }
}
