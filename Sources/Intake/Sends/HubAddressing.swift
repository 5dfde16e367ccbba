import HubAzure
package import PushModel

/// A send to an app's hub over a wire, divided into calls: one for each service and each expression that the hub takes.
///
/// Done at acceptance: what the hub could not take is refused before anything is sent.
package struct HubAddressing {
    let send: SendRequest
    let recipients: RecipientList

    /// - Parameters:
    ///   - send: The send, to registrations or to a list.
    ///   - recipients: Its list, if it has one.
    ///   - hub: The app's hub.
    /// - Throws: `Refusal` with the reason.
    init(_ send: SendRequest, _ recipients: RecipientList?, at hub: AppSpec.AzureHub) throws(Refusal) {
        let services = try Self.services(of: send, at: hub)
        if case .native(let native) = send.content, native[.apns]?.kind == .broadcast {
            throw Self.refused("an Azure hub cannot send to broadcast channels; use an app without an Azure hub")
        }
        if let recipients {
            guard case .handles(let devices) = recipients.devices else {
                throw Self.refused("an Azure hub cannot send to registration ids; name tags, users or handles")
            }
            if let other = devices.first(where: { !hub.platforms.contains($0.pns) }) {
                throw Self.refused(Self.noService(other.pns, at: hub))
            }
            let count = RecipientCount(
                kind: .handles,
                given: recipients.given,
                count: recipients.count.count,
                isAtHub: true
            )
            (self.send, self.recipients) = (send.with(audience: .list(count)), recipients)
            return
        }
        let parts = try Self.parts(of: send.audience)
        var calls: [Recipient] = []
        for pns in services {
            for part in parts { calls.append(Recipient(place: calls.count + 1, pns: pns, call: part)) }
        }
        self.recipients = RecipientList(handles: calls)
        // As its job shows it: the calls have the rest.
        let shown = send.preview
        self.send = shown.with(
            audience: .hub(shown.audience.selection ?? .everyone, calls: calls.count),
            truncatedTags: shown.truncatedTags
        )
    }

    /// - Throws: `Refusal` for a user whom no tag of such a hub can name.
    package static func check(_ user: UserName) throws(Refusal) {
        do { try AzureExpression.check(user) } catch { throw Self.refused(error.reason) }
    }

    /// Whether such a hub takes a tag.
    package static func takes(_ tag: Tag) -> Bool { AzureExpression.allows(tag) }

    private static func services(of send: SendRequest, at hub: AppSpec.AzureHub) throws(Refusal) -> [PushService] {
        if let other = send.platforms.first(where: { !hub.platforms.contains($0) }) {
            throw Self.refused(Self.noService(other, at: hub))
        }
        let wanted = send.platforms.isEmpty ? hub.platforms : send.platforms
        guard case .native(let native) = send.content, native.message == nil else { return wanted }
        let written = wanted.filter { native[$0] != nil }
        guard !written.isEmpty else {
            throw Self.refused("the send has no payload for any service of the app's hub")
        }
        return written
    }

    /// The expressions of the calls for each service.
    private static func parts(of audience: SendAudience) throws(Refusal) -> [TagExpression] {
        guard let selection = audience.selection else { return [.everyone] }
        do { return try AzureExpression.parts(of: selection) } catch {
            throw Self.refused(error.reason)
        }
    }

    private static func noService(_ pns: PushService, at hub: AppSpec.AzureHub) -> String {
        "the app's hub does not send to \(pns.descriptor.title), but to \(PushService.list(hub.platforms))"
    }

    private static func refused(_ reason: String) -> Refusal { Refusal(.impossible, reason, code: "hub") }
}
