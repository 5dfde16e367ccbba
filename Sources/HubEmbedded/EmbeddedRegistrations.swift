import FaultInjection
import Hub
package import PushModel
package import Store

/// The registrations of the embedded hub: rows of the store.
package struct EmbeddedRegistrations: HubRegistrations {
    /// How long a removal of a user goes on before its message is deferred.
    private static let removalBudget = Duration.seconds(10)

    private let store: any RegistrationStore

    /// - Parameter store: Where they are.
    package init(store: any RegistrationStore) {
        self.store = store
    }

    package func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult? {
        if case .removeUser = request { return try await self.removeUser(by: job) }
        let now = self.store.steadyTime
        let lifetime = spec.registrationLifetimeDays.map { now.advanced(by: .seconds($0 * 86_400)) }
        // The end that the caller gives counts if it is sooner.
        let expires = [lifetime, request.expires].compactMap { $0 }.min()
        do {
            return try await self.store.change(
                request,
                app: job.app,
                user: job.user,
                sequence: job.sequence,
                expires: expires,
                most: spec.registrationsPerUser
            )
        } catch let error as StoreError {
            throw HubError(.unavailable(after: nil), error.message)
        }
    }

    /// Removes a user in slices, for a while: nobody holds a message for a minute (rule 4).
    private func removeUser(by job: Job) async throws -> RegisterResult? {
        let end = ContinuousClock.now + Self.removalBudget
        do {
            repeat {
                let result = try await self.store.removeUser(by: job.sequence)
                CrashPoint.registerSliced.reach()
                if let result { return result }
            } while ContinuousClock.now < end
        } catch let error as StoreError {
            throw HubError(.unavailable(after: nil), error.message)
        }
        return nil
    }
}
