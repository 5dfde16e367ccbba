import Foundation

extension PushlineClient {
    /// Registers a device, in the order that the server expects.
    ///
    /// Asks for an id unless one is stored, and registers under it. Where that id cannot be had any more (it was deleted on purpose,
    /// or is another user's), a new one is asked for and tried once. Keep the id that is returned and give it the next time; register again whenever the
    /// address changes, and at each start of the app.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - storedID: The id that an earlier call returned, if there is one.
    /// - Returns: The id to store.
    /// - Throws: ``PushlineError``.
    public func register(_ device: Device, storedID: String? = nil) async throws -> String {
        let id: String
        if let storedID { id = storedID } else { id = try await self.issueRegistrationID(handle: device.handle) }
        do {
            try await self.put(device, id: id)
            return id
        } catch let error as PushlineError where error.code == .gone || error.code == .notFound {
            let fresh = try await self.issueRegistrationID(handle: device.handle)
            try await self.put(device, id: fresh)
            return fresh
        }
    }

    /// Asks for a registration id: the one that has that address, or a new one.
    ///
    /// - Parameter handle: The device's address, where it is known.
    /// - Returns: The id.
    /// - Throws: ``PushlineError``.
    public func issueRegistrationID(handle: String? = nil) async throws -> String {
        try await self.value(Call(method: "POST", path: ["register"], query: [("handle", handle)]))
    }

    /// Creates or replaces the registration under that id.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/gone`` when the id was deleted on purpose, ``PushlineError/Code/notFound`` when
    ///   it is another user's.
    public func put(_ device: Device, id: String) async throws {
        struct Body: Encodable {
            let platform: Platform
            let handle: String
            let tags: [String]

            enum CodingKeys: String, CodingKey {
                case platform = "Platform"
                case handle = "Handle"
                case tags = "Tags"
            }
        }
        let body = try Coding.body(Body(platform: device.platform, handle: device.handle, tags: device.tags))
        try await self.answer(Call(method: "PUT", path: ["register", id], body: body))
    }

    /// Deletes a registration: of oneself, or for an operator any of the app's.
    ///
    /// - Throws: ``PushlineError``.
    public func deleteRegistration(_ id: String) async throws {
        try await self.answer(Call(method: "DELETE", path: ["registrations", id]))
    }

    /// Lists registrations: the caller's own, or for an operator the app's.
    ///
    /// - Parameters:
    ///   - user: Only those of that user.
    ///   - tag: Only those with that tag.
    ///   - platform: Only those of that push service.
    ///   - state: Only those in that state; nil = all but the deleted.
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: The cursor of the page before.
    /// - Returns: A page of the list.
    /// - Throws: ``PushlineError``.
    public func registrations(
        user: String? = nil,
        tag: String? = nil,
        platform: Platform? = nil,
        state: String? = nil,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws -> Page<Registration> {
        let query = [
            ("user", user), ("tag", tag), ("pns", platform?.rawValue), ("state", state),
            ("limit", limit.map(String.init)),
            ("cursor", cursor),
        ]
        return try await self.value(Call(method: "GET", path: ["registrations"], query: query))
    }
}
