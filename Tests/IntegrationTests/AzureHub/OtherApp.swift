import Foundation
import HubWire
import InstallationSupport
import PushModel
import Testing

/// An app of an installation besides its default one, as its backend sees it.
struct OtherApp {
    struct Job: Decodable {
        struct Hub: Decodable {
            struct Call: Decodable {
                let service: String
                let state: String
                let notification: String?
                let telemetry: String?
                let outcome: String?
                let devices: [String: Int]?
            }

            let note: String?
            let calls: [Call]
        }

        let id: String
        let state: String
        let isFinal: Bool
        let totals: EndToEndInstallation.JobAnswer.Counts
        /// Of an app with an Azure hub.
        let hub: Hub?
    }

    struct Accepted: Decodable { let id: String }

    let installation: EndToEndInstallation
    let name: String
    private let key: String

    /// Declares it.
    init(_ name: String, _ spec: AppSpec, of installation: EndToEndInstallation) async throws {
        (self.installation, self.name) = (installation, name)
        self.key = try await installation.addApp(name, spec)
    }

    /// Declares one whose hub, as an Azure hub, is a `pushline-hub`; that is called at another port where something is between.
    init(
        _ name: String,
        before hub: HubAccess,
        through port: Int? = nil,
        platforms: [PushService] = [.apns],
        of installation: EndToEndInstallation
    ) async throws {
        let authority = installation.file("\(name).pem")
        try Data(hub.authority.utf8).write(to: authority)
        try Self.point(name, of: installation, at: port ?? hub.port, hub)
        var spec = AppSpec()
        spec.azureHub = AppSpec.AzureHub {
            $0.connectionStringFile = installation.file("\(name).connection").path
            $0.name = hub.name
            $0.platforms = platforms
            $0.trustFile = authority.path
        }
        try await self.init(name, spec, of: installation)
    }

    /// Replaces the connection string of an app before a hub by that of another port.
    func point(at port: Int, _ hub: HubAccess) throws {
        try Self.point(self.name, of: self.installation, at: port, hub)
    }

    private static func point(
        _ name: String,
        of installation: EndToEndInstallation,
        at port: Int,
        _ hub: HubAccess
    ) throws {
        let there = hub.connection
        let connection = ConnectionString(authority: "localhost:\(port)", rule: there.rule, key: there.key)
        try Data((connection.text + "\n").utf8).write(to: installation.file("\(name).connection"), options: .atomic)
    }

    func call(
        _ method: String,
        _ path: String,
        body: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> EndToEndInstallation.Answer {
        try await self.installation.asBackend(
            method,
            "/api/apps/\(self.name)\(path)",
            body: body,
            key: self.key,
            headers: headers
        )
    }

    /// Registers a device.
    ///
    /// - Returns: The registration's id.
    func register(
        _ handle: String,
        at pns: PushService = .apns,
        user: String,
        tags: [String] = []
    ) async throws -> String {
        let tags = tags.map { "\"\($0)\"" }.joined(separator: ",")
        let body = #"{"service":"\#(pns.rawValue)","handle":"\#(handle)","user":"\#(user)","tags":[\#(tags)]}"#
        let answer = try await self.call("POST", "/registrations", body: body)
        #expect([200, 201].contains(answer.status), "\(String(decoding: answer.body, as: UTF8.self))")
        return try answer.decoded(Accepted.self).id
    }

    /// Sends a text to `to` of the API, an object in JSON.
    ///
    /// - Returns: The job's id.
    func send(_ text: String, to: String, at moment: Timestamp? = nil) async throws -> String {
        let at = moment.map { #","at":"\#($0.iso8601)""# } ?? ""
        let answer = try await self.call("POST", "/sends", body: #"{"to":\#(to),"body":"\#(text)"\#(at)}"#)
        #expect(answer.status == 202, "\(String(decoding: answer.body, as: UTF8.self))")
        return try answer.decoded(Accepted.self).id
    }

    func job(_ id: String) async throws -> Job { try await self.call("GET", "/jobs/\(id)").decoded() }

    func finished(_ id: String) async throws -> Job {
        for _ in 0..<1200 {
            let job = try await self.job(id)
            if job.isFinal { return job }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw EndToEndInstallation.Failure(description: "job \(id) does not end: \(try await self.job(id))")
    }
}
