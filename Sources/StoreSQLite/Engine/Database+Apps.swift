import PushModel
import StoreSQL

extension Database {
    /// The app's number, or nil if it was never mentioned.
    func number(of app: AppID) throws -> Int64? { try self.answer(.number(of: app)).rows.first?["number"] }

    /// The app's number, given now if need be.
    func ensureNumber(of app: AppID) throws -> Int64 {
        if let number = try self.number(of: app) { return number }
        _ = try self.answer(.mention(app))
        return self.lastInsertedRowID
    }
}
