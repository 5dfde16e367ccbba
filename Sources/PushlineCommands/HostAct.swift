import Foundation
import PushModel
import Store

// What the user of this host does to the store itself.
extension NewAct {
    /// An act of the user of this host.
    ///
    /// - Parameters:
    ///   - kind: What it does.
    ///   - app: The app that it is about; nil = the host, or all apps.
    ///   - user: The user that it is about.
    ///   - target: What it is done to.
    /// - Returns: The act.
    static func ofHost(_ kind: ActKind, app: AppID? = nil, user: UserName? = nil, target: String? = nil) -> NewAct {
        NewAct(
            app: app,
            by: Self.hostUser,
            via: .host,
            origin: SystemNames.host,
            kind: kind,
            user: user,
            target: target
        )
    }

    /// Who does it.
    static var hostUser: String { "host:\(NSUserName())" }
}

extension ActStore {
    /// Does an act of one commit: its entry is written in that commit, or says why it was refused.
    ///
    /// - Parameters:
    ///   - act: The act.
    ///   - change: Makes the one change.
    /// - Returns: What the change gives.
    /// - Throws: What the change throws; `StoreError`.
    func act<Value>(_ act: NewAct, _ change: () async throws -> Value) async throws -> Value {
        do { return try await NewAct.$current.withValue(act) { try await change() } } catch let error as StoreError
            where [.conflict, .lastOperator].contains(error.code)
        {
            try await self.record(.new(act, .refused, result: error.code.description))
            throw error
        }
    }
}
