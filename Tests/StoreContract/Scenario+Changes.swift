package import PushModel
package import Store

extension RegisteringScenario {
    /// A change by a user who may have so many live registrations.
    package func change(
        _ request: RegisterRequest,
        user: String = "ann",
        sequence: Int64? = nil,
        most: Int = 3
    ) async throws -> RegisterResult? {
        let number: Int64
        if let sequence { number = sequence } else { number = try await self.sequence() }
        return try await self.devices.register(
            request,
            of: RegisterJob(app: .default, user: try UserName(user, .folded), sequence: number, most: most)
        )
    }

    /// Such a user's registration, by a handle of its own.
    package func put(
        _ id: String,
        handle: String? = nil,
        user: String = "ann",
        sequence: Int64? = nil
    ) async throws -> RegisterResult? {
        guard let registration = RegistrationID(id) else { throw Unexpected(id) }
        let upsert = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: handle ?? "h-\(id)"), tags: [])
        return try await self.change(.upsert(registration, upsert), user: user, sequence: sequence)
    }

    /// Imports rows, with an import of their own where no sequence is given.
    package func bring(_ rows: [ImportedRegistration], sequence: Int64? = nil) async throws -> [ImportResult] {
        let number: Int64
        if let sequence { number = sequence } else { number = try await self.devices.beginImport() }
        return try await self.devices.importRegistrations(rows, app: .default, sequence: number, lifetime: nil).results
    }
}

extension ImportedRegistration {
    /// A row in short.
    package static func row(
        _ handle: String,
        id: RegistrationID? = nil,
        user: String? = nil,
        tags: [String] = [],
        pns: PushService = .apns,
        expires: Timestamp? = nil
    ) throws -> ImportedRegistration {
        ImportedRegistration(
            id: id,
            pns: pns,
            handle: Handle(stored: handle),
            user: try user.map { try UserName($0, .folded) },
            tags: try tags.map { try PushModel.Tag($0, .folded) },
            expires: expires
        )
    }
}
