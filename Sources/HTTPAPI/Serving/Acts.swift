import HTTPTypes
import Logging
import PushModel
import PushlineLogging
import Settings
import Store
import WebServing

/// Writes down what operators do with an app.
extension RouteContext {
    /// Does an act of one commit: its entry is written in that commit, or says why it was refused.
    ///
    /// What others than operators do is not written down.
    ///
    /// - Parameters:
    ///   - kind: What it does.
    ///   - user: The user that it is about.
    ///   - target: What it is done to.
    ///   - request: The request that asks for it.
    ///   - change: Makes the one change, and throws where it comes to nothing.
    /// - Returns: What the change gives.
    /// - Throws: What the change throws.
    func act<Value>(
        _ kind: ActKind,
        user: UserName? = nil,
        target: String? = nil,
        _ request: APIRequest,
        _ change: () async throws -> Value
    ) async throws -> Value {
        guard try request.caller.role == .operator else { return try await change() }
        let act = try self.newAct(kind, user: user, target: target, request)
        do { return try await NewAct.$current.withValue(act) { try await change() } } catch {
            await self.note(refusal: error, of: act)
            throw error
        }
    }

    /// Does an act of several commits: what is written is that it begins, and how it ended.
    ///
    /// - Parameters:
    ///   - kind: What it does.
    ///   - user: The user that it is about.
    ///   - target: What it is done to.
    ///   - request: The request that asks for it.
    ///   - work: Does it.
    ///   - result: What came of it, in a few words.
    /// - Returns: What the work gives.
    /// - Throws: What the work throws; `StoreError` where nothing could be written, and nothing was done.
    func longAct<Value>(
        _ kind: ActKind,
        user: UserName? = nil,
        target: String? = nil,
        _ request: APIRequest,
        _ work: () async throws -> Value,
        result: (Value) -> String?
    ) async throws -> Value {
        guard try request.caller.role == .operator else { return try await work() }
        let act = try self.newAct(kind, user: user, target: target, request)
        let number = try await self.store.record(.new(act, .begun))
        do {
            let value = try await work()
            await self.note(.end(number, .done, result: result(value)), of: act)
            return value
        } catch {
            if error is PartlyDone {
                await self.note(.end(number, .done, result: "broken off"), of: act)
            } else if let words = Self.refusal(error) {
                await self.note(.end(number, .refused, result: words), of: act)
            }
            throw error
        }
    }

    /// The act that a request asks for.
    func newAct(
        _ kind: ActKind,
        user: UserName? = nil,
        target: String? = nil,
        _ request: APIRequest
    ) throws -> NewAct {
        self.newAct(kind, by: try request.caller.description, user: user, target: target, request)
    }

    /// The act of somebody whom no caller stands for yet.
    func newAct(
        _ kind: ActKind,
        by: String,
        user: UserName? = nil,
        target: String? = nil,
        _ request: APIRequest
    ) -> NewAct {
        let proxies = self.configuration.settings.trustedProxies
        return NewAct(
            app: request.app,
            by: by,
            via: request.via,
            origin: proxies.client(of: request.connection, headers: request.head.headerFields).text,
            kind: kind,
            user: user,
            target: target,
            request: LogContext.request
        )
    }

    /// Says of an act that it was refused; not where nobody knows what became of it.
    func note(refusal error: any Error, of act: NewAct) async {
        guard let words = Self.refusal(error) else { return }
        await self.note(.new(act, .refused, result: words), of: act)
    }

    /// Writes what became of an act, which it has become whether that can be written or not.
    private func note(_ entry: ActEntry, of act: NewAct) async {
        do { try await self.store.record(entry) } catch {
            self.logger.warning(
                "What became of an operator's act cannot be written down",
                metadata: ["app": "\(act.app?.name ?? "")", "act": "\(act.kind.rawValue)", "error": "\(error)"]
            )
        }
    }

    /// Why nothing was done, by the answer's status and type, for its words may name users; nil = it may have been done.
    private static func refusal(_ error: any Error) -> String? {
        let problem = (error as? Problem) ?? (error as? StoreError).map { Problem($0) }
        guard let problem, problem.status.kind == .clientError || problem.status == .insufficientStorage else {
            return nil
        }
        return ["\(problem.status.code)", problem.type].compactMap(\.self).joined(separator: " ")
    }
}
