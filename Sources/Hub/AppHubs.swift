package import PushModel

/// The hubs of apps that have one over a wire.
package protocol WireHubs: Sendable {
    /// An app's hub.
    ///
    /// - Throws: ``HubError`` that says what is wrong with the declaration or its files.
    func hub(_ declaration: AppSpec.AzureHub) throws(HubError) -> any NotificationHub
}

/// The registrations of each app: those of the embedded hub, or of the one over a wire that its declaration names.
package struct AppHubs: Sendable {
    private let embedded: any HubRegistrations
    private let wire: any WireHubs

    /// - Parameters:
    ///   - embedded: Our own.
    ///   - wire: The others.
    package init(embedded: any HubRegistrations, wire: any WireHubs) {
        self.embedded = embedded
        self.wire = wire
    }

    /// See ``HubRegistrations/register(_:for:spec:)``.
    package func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult? {
        guard let declaration = spec.azureHub else {
            return try await self.embedded.register(request, for: job, spec: spec)
        }
        let result = try await self.hub(declaration).register(request, for: job, spec: spec)
        // The store has what else there is of a user; the registrations went first, for the name goes with the rest.
        guard case .removeUser = request, result == .done else { return result }
        return try await self.embedded.register(request, for: job, spec: spec)
    }

    /// The jobs' reasons name no file of the host.
    private func hub(_ declaration: AppSpec.AzureHub) throws(HubError) -> any NotificationHub {
        do { return try self.wire.hub(declaration) } catch {
            throw HubError(error.kind, WaitReason.unusableHub.text)
        }
    }
}
