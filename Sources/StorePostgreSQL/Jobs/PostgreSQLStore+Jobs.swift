package import PushModel
import Store
import StoreKit
import StoreSQL

extension PostgreSQLStore: JobStore {
    package func finishRegister(_ id: JobID, result: RegisterResult) async throws -> String? {
        try await self.end(JobEndings.finishRegister(id, result, clock: self.clock))
    }
}
