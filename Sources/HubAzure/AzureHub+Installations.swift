package import HubWire
import NIOHTTP1
import PushModel

extension AzureHub {
    /// Creates or replaces an installation.
    ///
    /// Azure does it some time after its answer: a read may miss it for a while.
    ///
    /// - Throws: ``AzureHubError``.
    package func put(_ installation: WireInstallation) async throws(AzureHubError) {
        var request = AzureRequest(.PUT, "installations", PercentCoding.encode(installation.id))
        request.headers = [("Content-Type", WireNames.json)]
        request.body = installation.requestJSON.bytes
        _ = try await self.transport.call(request)
    }

    /// Reads an installation; Azure throttles this more than anything else.
    ///
    /// - Returns: nil if there is none, or not yet.
    /// - Throws: ``AzureHubError``.
    package func installation(_ id: String) async throws(AzureHubError) -> WireInstallation? {
        let request = AzureRequest(.GET, "installations", PercentCoding.encode(id))
        let answer = try await self.transport.call(request, expecting: [404])
        guard answer.status != 404 else { return nil }
        return try answer.read { bytes throws(InvalidValue) in try WireInstallation(reading: bytes, id: id) }
    }

    /// Changes an installation.
    ///
    /// - Throws: ``AzureHubError``; `notFound` where there is none.
    package func patch(_ id: String, _ patch: InstallationPatch) async throws(AzureHubError) {
        var request = AzureRequest(.PATCH, "installations", PercentCoding.encode(id))
        request.headers = [("Content-Type", WireNames.jsonPatch)]
        request.body = patch.json.bytes
        _ = try await self.transport.call(request)
    }

    /// Deletes an installation; one that is not there is no error.
    ///
    /// - Throws: ``AzureHubError``.
    package func deleteInstallation(_ id: String) async throws(AzureHubError) {
        let request = AzureRequest(.DELETE, "installations", PercentCoding.encode(id))
        _ = try await self.transport.call(request, expecting: [404])
    }
}
