import ArgumentParser
import Foundation
import Installation
import PushModel
import Settings
import Store

/// `pushline doctor`.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Check this host's configuration, store, broker and credentials, and say how to fix what is wrong.",
        discussion: """
            Makes no queue, and publishes one message that goes to none. Fetches the keys of apps' own tokens, \
            and asks apps' Azure hubs and broker.management_url. Asks no push service unless --push is given.

            With --push each push service is asked whether it takes the credentials, and nobody gets anything: APNs by one request for a \
            device that does not exist, FCM by a token and a dry run, WNS by a token. Of Web Push only the key pair is checked. --device sends a \
            notification to one device; it is not a job, and is not counted.

            With --url a running server is asked over HTTP from anywhere: its version, certificate, clock, store and broker, and with a \
            key whether that signs in, and what is paused or dead.
            """
    )

    @OptionGroup var host: HostOptions

    @Flag(help: "Ask push services whether they take the credentials.")
    var push = false

    @Option(help: ArgumentHelp("With --push: send a notification to this device.", valueName: "token"))
    var device: String?

    @Option(help: "With --push or --url: this app alone.")
    var app: String?

    @Option(help: "With --push: this push service alone.", completion: KnownValues.sendingServices)
    var service: String?

    @Option(help: "With --push: the credentials of this name alone; \"default\" for those without one.")
    var credential: String?

    @Option(help: "Ask the server at this URL, and nothing of this host.")
    var url: String?

    @OptionGroup(title: "With --url") var access: AccessOptions

    func validate() throws {
        if self.url != nil {
            guard !self.push, self.host.config == nil else {
                throw ValidationError("--url asks a server from anywhere; --push and --config are for its host.")
            }
        } else if self.access.key != nil || self.access.caFile != nil {
            throw ValidationError("--key and --ca-file go with --url.")
        }
        guard self.push || (self.device ?? self.service ?? self.credential) == nil else {
            throw ValidationError("--device, --service and --credential go with --push.")
        }
        guard self.push || self.url != nil || self.app == nil else {
            throw ValidationError("--app goes with --push or --url.")
        }
        try KnownValues.check(service: self.service)
        _ = try self.question()
    }

    /// What to ask push services; nil = nothing.
    private func question() throws -> PushQuestion? {
        guard self.push else { return nil }
        func read<Value>(_ text: String?, _ option: String, _ make: (String) throws(InvalidValue) -> Value) throws
            -> Value?
        {
            guard let text else { return nil }
            do throws(InvalidValue) { return try make(text) } catch {
                throw ValidationError("\(option): \(error.reason)")
            }
        }
        return PushQuestion(
            app: try read(self.app, "--app") { name throws(InvalidValue) in try AppID(name) },
            service: self.service.flatMap(PushService.init(rawValue:)),
            credential: try read(self.credential, "--credential") { name throws(InvalidValue) in
                try CredentialName(name)
            },
            device: self.device
        )
    }

    func run() async throws {
        let findings =
            if let url { try await self.ask(url) } else { try await self.examine() }
        let width = findings.map(\.subject.count).max() ?? 0
        self.host.show(.array(findings.map(\.json))) { findings.map { $0.line(width: width) } }
        if findings.contains(where: { !$0.isRight }) { throw ExitCode.failure }
    }

    /// Asks a server.
    private func ask(_ url: String) async throws -> [Finding] {
        let client = try self.access.client(of: url, app: self.app, timeout: 10, needsKey: false)
        return await ServerCheckup(client: client).run()
    }

    /// Looks at this host.
    private func examine() async throws -> [Finding] {
        var findings: [Finding] = []
        do {
            let configuration = try PushlineConfiguration(file: self.host.config)
            findings.append(.right("configuration", Self.place(of: PushlineConfiguration.chosenFile(self.host.config))))
            let unknown = PushlineConfiguration.unknownVariables()
            if !unknown.isEmpty {
                let names = unknown.joined(separator: ", ")
                findings.append(.wrong("environment", "nothing reads \(names): correct or unset"))
            }
            let checkup = Checkup(
                configuration: configuration,
                logger: HostOptions.logger,
                question: try self.question()
            )
            findings += await checkup.run()
        } catch let error as ConfigurationError {
            findings.append(.wrong("configuration", "\(error)"))
        }
        return findings
    }

    /// The absolute path of the configuration file, so that its folder is visible.
    private static func place(of file: String?) -> String {
        guard let file else {
            return "no file, for there is no \(PushlineConfiguration.defaultFilesText): defaults and environment"
        }
        return "\(URL(filePath: file).standardizedFileURL.path(percentEncoded: false)) and environment"
    }
}

/// The result of a check.
struct Finding: Sendable, Equatable {
    /// Such as `broker`.
    let subject: String
    let verdict: StoreObservation.Verdict
    /// The observation; for a fault, with the remedy.
    let words: String

    static func right(_ subject: String, _ words: String) -> Finding {
        Finding(subject: subject, verdict: .right, words: words)
    }

    static func wrong(_ subject: String, _ words: String) -> Finding {
        Finding(subject: subject, verdict: .wrong, words: words)
    }

    init(subject: String, verdict: StoreObservation.Verdict, words: String) {
        (self.subject, self.verdict, self.words) = (subject, verdict, words)
    }

    init(_ seen: StoreObservation) { self.init(subject: seen.subject, verdict: seen.verdict, words: seen.words) }

    /// Whether nobody need do anything.
    var isRight: Bool { self.verdict != .wrong }

    func line(width: Int) -> String {
        let space = String(repeating: " ", count: max(0, width - self.subject.count))
        let verdict = self.verdict.rawValue.padding(toLength: 5, withPad: " ", startingAt: 0)
        return "\(verdict)  \(self.subject)\(space)  \(Console.safe(self.words))"
    }

    var json: JSONValue {
        .members(["check": .string(self.subject), "ok": .bool(self.isRight), "detail": .string(self.words)])
    }
}
