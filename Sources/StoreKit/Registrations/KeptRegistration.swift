import Crypto
import Foundation
package import PushModel

/// A registration as the store keeps it.
package struct KeptRegistration: Sendable {
    /// nil = it is new.
    package let row: Int64?
    package let id: RegistrationID
    /// nil = its handle was never said.
    package var slot: RegistrationSlot?
    package var handle: Handle?
    package var credential = CredentialName.default
    package var user: UserName?
    package var state: Registration.State
    package var version: Int64
    package var updated: Timestamp
    package var expires: Timestamp?
    package var ended: Registration.Ended?
    /// Of a live registration, without its user's own.
    package var tags = TagList([])
    /// Of a live registration for a template: JSON of a ``DeviceTemplate/Content``.
    package var content: String?
    /// JSON of a ``WrittenDevice``.
    package var written: String?

    package init(
        row: Int64?,
        id: RegistrationID,
        state: Registration.State,
        version: Int64,
        updated: Timestamp
    ) {
        self.row = row
        self.id = id
        self.state = state
        self.version = version
        self.updated = updated
    }

    /// By which its template is found.
    package var contentDigest: [UInt8]? { self.content.map { Array(SHA256.hash(data: Data($0.utf8))) } }

    package var isLive: Bool { self.state == .live }

    /// Whether it has a handle of that one's device, and for the same.
    package func isOf(_ handle: Handle, _ slot: RegistrationSlot) -> Bool {
        self.slot == slot && self.handle.map { handle.sameDevice(at: slot.pns).contains($0.text) } == true
    }

    /// The handle that a live one has to lose, and the change that claimed it.
    package var released: (handle: ReleasedHandle, version: Int64)? {
        guard self.isLive, let handle = self.handle, let slot = self.slot else { return nil }
        return (ReleasedHandle(handle, slot), self.version)
    }

    /// Ends it: it leaves all audiences.
    package mutating func end(as state: Registration.State, _ ended: Registration.Ended) {
        (self.state, self.ended, self.content, self.tags) = (state, ended, nil, TagList([]))
    }

    /// As the store's callers know it, with the names of its tags.
    package func registration(of app: AppID, tags names: [Int64: Tag]) throws -> Registration {
        var tags = self.tags.numbers.compactMap { names[$0] }
        if self.isLive, let own = self.user.flatMap({ Tag(.user, of: $0) }) { tags.append(own) }
        return Registration(
            row: self.row ?? 0,
            id: self.id,
            app: app,
            user: self.user,
            pns: self.slot?.pns,
            handle: self.handle,
            credential: self.credential,
            tags: tags.sorted(),
            state: self.state,
            updated: self.updated,
            version: self.version,
            expires: self.expires,
            ended: self.ended,
            template: try self.slot?.template.flatMap { slot in
                try self.content.map {
                    DeviceTemplate(slot: slot, content: try StoredJSON.value(DeviceTemplate.Content.self, from: $0))
                }
            },
            written: try self.written.map { try StoredJSON.value(WrittenDevice.self, from: $0) }
        )
    }
}

extension KeptRegistration {
    // The conditions of the indexes.

    /// Of live ones.
    package static let live = "state = \(Registration.State.live.number)"
    /// Of those that have ended.
    package static let past = "state <> \(Registration.State.live.number)"
}
