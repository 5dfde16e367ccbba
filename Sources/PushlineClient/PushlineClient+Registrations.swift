import Foundation

extension PushlineClient {
    /// Registers a device, in the order that the server expects.
    ///
    /// Asks for an id unless one is stored, and registers under it. Where that id cannot be had any more (it was deleted on purpose,
    /// or is another user's), a new one is asked for and tried once. Keep the id that is returned and give it the next time; register again whenever the
    /// address changes, and at each start of the app. ``DeviceRegistration`` does all that.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - storedID: The id that an earlier call returned, if there is one.
    /// - Returns: The id to store.
    /// - Throws: ``PushlineError``.
    public func register(_ device: Device, storedID: String? = nil) async throws -> String {
        try await self.register(device, storedID: storedID) { _ in }
    }

    /// Hands each new id to `keep` before it is used.
    func register(_ device: Device, storedID: String?, keep: (String) throws -> Void) async throws -> String {
        func issue() async throws -> String {
            let id = try await self.issueRegistrationID(handle: device.handle)
            try keep(id)
            return id
        }
        let id: String
        if let storedID { id = storedID } else { id = try await issue() }
        do {
            try await self.put(device, id: id)
            return id
        } catch let error as PushlineError where error.code == .gone || error.code == .notFound {
            let fresh = try await issue()
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
        let id: String = try await self.value(Call(method: "POST", path: ["register"], query: [("handle", handle)]))
        guard RegistrationState.isID(id) else {
            throw PushlineError(.unexpectedAnswer, "the server's answer is not the id of a registration")
        }
        return id
    }

    /// Creates or replaces the registration under that id.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/gone`` when the id was deleted on purpose, ``PushlineError/Code/notFound`` when
    ///   it is another user's.
    public func put(_ device: Device, id: String) async throws {
        struct Body: Encodable {
            let service: PushNotification.Service
            let handle: String
            let credential: String?
            let tags: [String]

            enum CodingKeys: String, CodingKey {
                case service = "Platform"
                case handle = "Handle"
                case credential = "Credential"
                case tags = "Tags"
            }
        }
        let body = try Coding.body(
            Body(service: device.service, handle: device.handle, credential: device.credential, tags: device.tags)
        )
        try await self.acknowledgement(Call(method: "PUT", path: ["register", id], body: body))
    }

    /// Registers a device of a user, as a backend does with its key; an account registers its own.
    ///
    /// Where a live registration has the device's address, it is replaced and keeps its id.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - user: Whose it is; nil = the account's that asks, or for a key nobody's.
    /// - Returns: The registration.
    /// - Throws: ``PushlineError``.
    public func createRegistration(_ device: Device, user: String? = nil) async throws -> Registration {
        let body = try Coding.body(RegistrationBody(device, user: user))
        return try await self.value(Call(method: "POST", path: ["registrations"], body: body))
    }

    /// Creates or replaces a registration of a user under an id that the backend chooses.
    ///
    /// - Parameters:
    ///   - id: 1 to 128 letters, digits, `-`, `_`, `.` and `~`.
    ///   - device: The device.
    ///   - user: Whose it is; nil = the account's that asks, or for a key nobody's.
    /// - Returns: The registration.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/gone`` when the id was deleted on purpose.
    public func putRegistration(_ id: String, _ device: Device, user: String? = nil) async throws -> Registration {
        let body = try Coding.body(RegistrationBody(device, user: user))
        return try await self.value(Call(method: "PUT", path: ["registrations", id], body: body))
    }

    /// Adds tags to a live registration, removes others, and gives it another credential.
    ///
    /// - Parameters:
    ///   - id: The registration.
    ///   - added: Tags to add.
    ///   - removed: Tags to remove.
    ///   - credential: With which of the app's credentials it is reached from now on, `default` or another; nil = as before.
    /// - Returns: The registration.
    /// - Throws: ``PushlineError``.
    public func patchRegistration(
        _ id: String,
        adding added: [String] = [],
        removing removed: [String] = [],
        credential: String? = nil
    ) async throws -> Registration {
        struct Body: Encodable {
            let tags: [String: [String]]?
            let credential: String?
        }
        let tags = added.isEmpty && removed.isEmpty ? nil : ["add": added, "remove": removed]
        let body = try Coding.body(Body(tags: tags, credential: credential))
        return try await self.value(Call(method: "PATCH", path: ["registrations", id], body: body))
    }

    /// A registration: one's own, or for a backend's key or an operator any of the app's.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` when there is none.
    public func registration(_ id: String) async throws -> Registration {
        try await self.value(Call(method: "GET", path: ["registrations", id]))
    }

    /// Deletes a registration: of oneself, or for a backend's key or an operator any of the app's.
    ///
    /// - Throws: ``PushlineError``.
    public func deleteRegistration(_ id: String) async throws {
        try await self.answer(Call(method: "DELETE", path: ["registrations", id]))
    }

    /// Registrations: one's own, or for a backend's key or an operator the app's.
    ///
    /// - Parameters:
    ///   - user: Those of that user.
    ///   - tag: Those with that tag.
    ///   - service: Those of that push service.
    ///   - handle: The live ones with that address.
    ///   - state: Those in that state; nil = all but the deleted.
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: The cursor of the page before.
    /// - Returns: A page of the list.
    /// - Throws: ``PushlineError``.
    public func registrations(
        user: String? = nil,
        tag: String? = nil,
        service: PushNotification.Service? = nil,
        handle: String? = nil,
        state: String? = nil,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws -> Page<Registration> {
        let query = [
            ("user", user), ("tag", tag), ("service", service?.rawValue), ("handle", handle),
            ("state", state), ("limit", limit.map(String.init)),
            ("cursor", cursor),
        ]
        return try await self.value(Call(method: "GET", path: ["registrations"], query: query))
    }
}

/// The body of a registration that is created or replaced.
private struct RegistrationBody: Encodable {
    let service: PushNotification.Service
    let handle: String
    let credential: String?
    let user: String?
    let tags: [String]

    init(_ device: Device, user: String?) {
        self.service = device.service
        self.handle = device.handle
        self.credential = device.credential
        self.user = user
        self.tags = device.tags
    }
}
