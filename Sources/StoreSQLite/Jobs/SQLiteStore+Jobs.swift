package import PushModel
import Store
import StoreKit
import StoreSQL

extension SQLiteStore: JobStore {
    package func finishRegister(_ id: JobID, result: RegisterResult) async throws -> String? {
        let text = try StoredJSON.text(result)
        return try await self.write { try $0.finishRegister(id, result: result, text: text) }
    }
}
