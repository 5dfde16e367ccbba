import FaultInjection
import Hub
package import PushModel
package import Store

/// The registrations of the embedded hub: rows of the store.
package struct EmbeddedRegistrations: HubRegistrations {
    /// How long a change in parts goes on before its message is deferred: nobody holds one for a minute (rule 4).
    private static let budget = Duration.seconds(10)

    private let store: any RegistrationStore

    /// - Parameter store: Where they are.
    package init(store: any RegistrationStore) {
        self.store = store
    }

    package func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult? {
        let end = ContinuousClock.now + Self.budget
        do {
            repeat {
                let result = try await self.store.register(request, of: RegisterJob(job, spec))
                if case .removeUser = request { CrashPoint.registerSliced.reach() }
                if let result { return result }
            } while ContinuousClock.now < end
        } catch let error as StoreError {
            throw HubError(.unavailable(after: nil), error.message)
        }
        return nil
    }
}
