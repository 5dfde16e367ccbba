import Foundation
import NIOCore
import PushModel

/// Apple's rules for broadcast channels: "Sending channel management requests to APNs", "Sending broadcast push notification requests
/// to APNs" and "Handling error responses from Apple Push Notification service".
///
/// The order of the checks is not documented.
struct ChannelRules {
    static let managementPrefix = "/1/apps/"
    static let broadcastPrefix = "/4/broadcasts/apps/"
    /// The token of a fault that hits the management of channels, which is about no device.
    static let faultToken = "channels"
    private static let maximumPayload = 5120

    var apns: APNsRules

    /// Apple's word for a fault.
    struct Refusal: Error, Equatable {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// Does what a management request asks for.
    ///
    /// - Returns: The answer without the request's id, or the fault.
    func manage(
        _ request: InboundRequest,
        on connection: ConnectionMemory,
        channels: inout SimulatedChannels,
        now: Double
    ) -> Result<Answer, Refusal> {
        do throws(Refusal) {
            try Self.checkHeaders(request)
            guard request.path.hasPrefix(Self.managementPrefix) else { throw Refusal("BadPath") }
            let parts = request.path.dropFirst(Self.managementPrefix.count)
                .split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, ["channels", "all-channels"].contains(parts[1]) else { throw Refusal("BadPath") }
            let bundle = String(parts[0])
            let isAll = parts[1] == "all-channels"
            guard ["GET"].contains(request.method) || (!isAll && ["POST", "DELETE"].contains(request.method)) else {
                throw Refusal("MethodNotAllowed")
            }
            try self.checkCredential(request, bundle, connection, now)
            if isAll {
                let ids = JSONValue.strings(channels.all(of: bundle))
                return .success(.json(200, JSONValue.members(["channels": ids]).compactText))
            }
            if request.method == "POST" {
                guard let id = channels.create(for: bundle, storage: try Self.storage(request)) else {
                    throw Refusal("CannotCreateChannelConfig")
                }
                var answer = Answer(status: 201)
                answer.add("apns-channel-id", id)
                return .success(answer)
            }
            let (id, storage) = try Self.channel(of: request, bundle, channels)
            guard request.method == "DELETE" else {
                let body = JSONValue.members([
                    "message-storage-policy": .integer(storage), "push-type": .string("LiveActivity"),
                ])
                return .success(.json(200, body.compactText))
            }
            channels.delete(id, of: bundle)
            return .success(Answer(status: 204))
        } catch {
            return .failure(error)
        }
    }

    /// Checks a push to a channel.
    ///
    /// - Returns: Apple's word for its fault; nil = it is in order.
    func broadcastFault(
        _ request: InboundRequest,
        on connection: ConnectionMemory,
        channels: SimulatedChannels,
        now: Double
    ) -> String? {
        do throws(Refusal) {
            try Self.checkHeaders(request)
            guard request.method == "POST" else { throw Refusal("MethodNotAllowed") }
            let bundle = String(request.path.dropFirst(Self.broadcastPrefix.count))
            guard !bundle.isEmpty, !bundle.contains("/") else { throw Refusal("BadPath") }
            try self.checkCredential(request, bundle, connection, now)
            guard let type = request["apns-push-type"] else { throw Refusal("MissingPushType") }
            guard type.lowercased() == "liveactivity" else { throw Refusal("InvalidPushType") }
            let storage = try Self.channel(of: request, bundle, channels).storage
            guard let priority = request["apns-priority"], ["1", "5", "10"].contains(priority) else {
                throw Refusal("BadPriority")
            }
            // A channel that stores nothing takes 0 alone.
            guard let expiration = request["apns-expiration"], APNsRules.isTime(expiration),
                storage == 1 || Int(expiration) == 0
            else { throw Refusal("BadExpirationDate") }
            try Self.checkPayload(request)
            return nil
        } catch {
            return error.reason
        }
    }

    private static func checkHeaders(_ request: InboundRequest) throws(Refusal) {
        if APNsRules.repeatsHeader(request) { throw Refusal("DuplicateHeaders") }
        if let id = request["apns-request-id"], !APNsRules.isCanonicalUUID(id) { throw Refusal("BadMessageId") }
    }

    private func checkCredential(
        _ request: InboundRequest,
        _ bundle: String,
        _ connection: ConnectionMemory,
        _ now: Double
    ) throws(Refusal) {
        if let fault = self.apns.credentialFault(request, on: connection, now: now) { throw Refusal(fault) }
        // The bundle id stands without the suffix of a push type.
        if self.apns.bundleIDs.contains(where: { bundle.hasPrefix($0 + ".") }) { throw Refusal("TopicDisallowed") }
        let certified = connection.certificate?.topics ?? self.apns.bundleIDs
        guard self.apns.bundleIDs.contains(bundle), certified.contains(bundle) else { throw Refusal("TopicMismatch") }
    }

    private static func channel(
        of request: InboundRequest,
        _ bundle: String,
        _ channels: SimulatedChannels
    ) throws(Refusal) -> (id: String, storage: Int) {
        guard let id = request["apns-channel-id"], !id.isEmpty else { throw Refusal("MissingChannelId") }
        guard Data(base64Encoded: id) != nil, id.utf8.count <= SimulatedChannels.longestID else {
            throw Refusal("BadChannelId")
        }
        guard let storage = channels.storage(of: id, bundle) else { throw Refusal("ChannelNotRegistered") }
        return (id, storage)
    }

    /// The storage policy of a new channel.
    private static func storage(_ request: InboundRequest) throws(Refusal) -> Int {
        guard let body = Self.object(request) else { throw Refusal("BadRequestPayload") }
        guard body.keys.allSatisfy(["message-storage-policy", "push-type"].contains),
            let storage = body["message-storage-policy"] as? Int, (0...1).contains(storage)
        else { throw Refusal("BadRequestParams") }
        guard let type = body["push-type"] else { throw Refusal("MissingPushType") }
        guard type as? String == "LiveActivity" else { throw Refusal("InvalidPushType") }
        return storage
    }

    private static func checkPayload(_ request: InboundRequest) throws(Refusal) {
        if request.bodySize == 0 { throw Refusal("PayloadEmpty") }
        if request.bodySize > Self.maximumPayload { throw Refusal("PayloadTooLarge") }
        guard let root = Self.object(request) else { throw Refusal("BadRequestPayload") }
        guard let aps = root["aps"] as? [String: Any] else { throw Refusal("PayloadEmpty") }
        // A broadcast cannot start an activity.
        guard LiveActivityRules.fits(aps), aps["event"] as? String != "start" else { throw Refusal("InvalidPushType") }
    }

    private static func object(_ request: InboundRequest) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(request.body.readableBytesView))) as? [String: Any]
    }
}
