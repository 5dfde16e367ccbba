import Broker
import Foundation
import Installation
import JSONWebTokens
import Logging
import PushModel
import PushServices
import ServiceLifecycle
import Settings
import Store

/// Checks the configuration's targets: store, broker, and the credentials of every app.
struct Checkup {
    /// The longest that the broker may take to answer.
    static let timeout = Duration.seconds(2)

    let configuration: PushlineConfiguration
    let logger: Logger
    /// What to ask push services; nil = nothing.
    var question: PushQuestion?

    func run() async -> [Finding] {
        let found = await self.store()
        let broker = await self.broker(found.apps) + self.cluster()
        let host = Self.root(geteuid()) + self.certificate() + self.descriptors()
        let senders = SenderRegistry(logger: self.logger)
        var credentials = await self.credentials(of: found.apps, retired: found.retired, senders)
        if let question {
            credentials +=
                found.isRead
                ? await PushCheckup(senders: senders).run(question, found.apps)
                : [.wrong("push", "nothing was asked: the apps' credentials are in the store, which could not be read")]
        }
        await senders.close()
        let hubs = await HubCheckup().run(found.apps)
        return [found.finding] + found.servers + broker + host + credentials + hubs + found.blocked
    }

    /// What the store says.
    private struct StoreFindings {
        var finding: Finding
        /// Whether it could be read, so that `apps` are all that there are.
        var isRead = false
        /// Of the servers where it is.
        var servers: [Finding] = []
        var apps: [AppID: AppSpec] = [:]
        /// Apps that nobody can sign in to.
        var retired: Set<AppID> = []
        var blocked: [Finding] = []
    }

    private func store() async -> StoreFindings {
        let configured = Composition.store(self.configuration)
        var found = await self.content(of: configured)
        found.servers = configured.examine(logger: self.logger).map(Finding.init)
        return found
    }

    private func content(of configured: any ConfiguredStore) async -> StoreFindings {
        let place = configured.place
        // Opening would make one: a wrong place would look right.
        guard configured.exists else {
            let advice = "pushline apps apply FILE makes it, or set \(configured.advice.setting)"
            return StoreFindings(finding: .wrong("store", "\(place): there is none; \(advice)"))
        }
        do {
            let store = try await configured.open(logger: self.logger)
            let apps = try await store.apps()
            guard !apps.isEmpty else {
                let words = "\(place): works, but no app is declared: pushline apps apply FILE declares one"
                return StoreFindings(finding: .wrong("store", words), isRead: true)
            }
            let names = apps.keys.sorted().map(\.name).joined(separator: ", ")
            let blocked =
                self.listening(configured.portClaim)
                + (try await BlockedWork(store: store, apps: apps).findings())
            return StoreFindings(
                finding: .right("store", "\(place): works; apps: \(names)"),
                isRead: true,
                apps: apps,
                retired: try await Self.retired(apps, in: store),
                blocked: blocked
            )
        } catch let error as StoreError {
            let words = "\(place): \(error.message); \(configured.advice.whenUnavailable)"
            return StoreFindings(finding: .wrong("store", words))
        } catch {
            return StoreFindings(finding: .wrong("store", "\(error)"))
        }
    }

    /// The apps whose keys are all revoked, without accounts or an issuer of tokens: nobody can send or register any more.
    private static func retired(_ apps: [AppID: AppSpec], in store: any ResultStore) async throws -> Set<AppID> {
        var retired: Set<AppID> = []
        for (app, spec) in apps where spec.tokens == nil && spec.authentication == .accounts {
            // One that never had a key is new.
            let keys = try await store.keys(.app(app))
            guard !keys.isEmpty, keys.allSatisfy({ $0.revoked != nil }),
                try await store.accounts(AccountQuery(app: app, limit: 1)).items.isEmpty
            else { continue }
            retired.insert(app)
        }
        return retired
    }

    /// Whether an API of this store runs, if that can be determined.
    private func listening(_ claim: PortClaim) -> [Finding] {
        let port = self.configuration.api.port
        guard let isTaken = claim.isTaken(port: port) else { return [] }
        return [
            isTaken
                ? .right("api", "listens on port \(port)")
                : .wrong("api", "no API of this store listens on port \(port): start pushline-api")
        ]
    }

    /// Connects, and looks at the queues.
    private func broker(_ apps: [AppID: AppSpec]) async -> [Finding] {
        let place = "\(self.configuration.broker)"
        do {
            let account = Self.account(try Composition.defaultAccounts(self.configuration))
            let broker = try Composition.makeBroker(
                self.configuration,
                name: "pushline doctor",
                timeout: Self.timeout,
                declares: false,
                logger: self.logger
            )
            let found = await withTaskGroup(of: [Finding]?.self) { group in
                group.addTask {
                    do { try await broker.run() } catch is CancellationError { return nil } catch {
                        return [.wrong("broker", "\(place): \(error)")]
                    }
                    return nil
                }
                let services = Set(apps.values.flatMap(\.services))
                group.addTask { await BrokerCheckup(broker: broker, place: place, services: services).run() }
                defer { group.cancelAll() }
                for await findings in group { if let findings { return findings } }
                return [.wrong("broker", "\(place): the connection was closed")]
            }
            return found + account
        } catch {
            return [.wrong("broker", "\(error)")]
        }
    }

    /// Says that everybody knows the broker's account: who logs in with it reads and takes messages, whose texts and handles are whole.
    ///
    /// - Parameter nodes: Those that it is used at.
    /// - Returns: Nothing where there are none.
    static func account(_ nodes: [(node: String, isLoopback: Bool)]) -> [Finding] {
        guard !nodes.isEmpty else { return [] }
        let places = nodes.map { $0.node }.sorted().joined(separator: ", ")
        let words = "guest, RabbitMQ's default user, whose password everybody knows, at \(places):"
        guard nodes.contains(where: { !$0.isLoopback }) else {
            let advice = "any user of this host can read and take messages; allow only users whom you trust"
            return [.right("broker user", "\(words) \(advice)")]
        }
        return [
            .wrong(
                "broker user",
                "\(words) anyone who reaches it can read and take messages; give Pushline a virtual host and a user of its own "
                    + "(rabbitmqctl add_vhost, add_user, set_permissions), name them in broker.url, and delete guest"
            )
        ]
    }

    /// The members of the broker's queues, where the configuration says who knows them.
    private func cluster() async -> [Finding] {
        do {
            guard let address = try Composition.management(self.configuration) else { return [] }
            return await ClusterCheckup(address: address).run()
        } catch {
            return [.wrong("cluster", "\(error)")]
        }
    }

    /// Says that root can read files which the programs' user perhaps cannot.
    static func root(_ user: uid_t) -> [Finding] {
        guard user == 0 else { return [] }
        let words =
            "reads every file, so whether the programs can is not known: runuser -u USER -- pushline doctor, as their user, "
            + "shows it"
        return [.right("root", words)]
    }

    /// The API's TLS certificate.
    private func certificate() -> [Finding] {
        guard let path = self.configuration.api.certificateFile else { return [] }
        let setting = "api.certificate_file"
        guard let end = CredentialExpiry.ofCertificates(setting: setting, path: path, isChain: true) else {
            return [.wrong("api", "\(setting): \(path) cannot be read as PEM")]
        }
        return [Self.finding("api", "its certificate can be read", [end])]
    }

    /// Whether the descriptor limit allows `api.connections`, if the service has the limits of this shell.
    private func descriptors() -> [Finding] {
        guard let limit = DescriptorLimit.current else { return [] }
        return [Self.descriptors(limit, connections: self.configuration.api.connections)]
    }

    static func descriptors(_ limit: DescriptorLimit, connections: Int) -> Finding {
        let needed = connections + DescriptorLimit.reserve
        let words = "limits of open files here: soft \(limit.soft), hard \(limit.hard)"
        guard limit.hard < needed else {
            return .right("descriptors", "\(words); a program raises the soft one when it starts")
        }
        return .wrong(
            "descriptors",
            "\(words), and api.connections (\(connections)) needs \(needed): raise the hard one (LimitNOFILE=, ulimit -Hn), "
                + "or lower the setting"
        )
    }

    /// Right until a credential has expired; approaching expiry is mentioned in the same line.
    private static func finding(_ subject: String, _ words: String, _ ends: [CredentialExpiry]) -> Finding {
        let near = ends.filter { $0.isNear() }.map { "\($0.setting) \($0.words())" }
        guard !near.isEmpty else { return .right(subject, words) }
        let detail = "\(words), but \(near.joined(separator: "; ")): replace it"
        return ends.contains { $0.days() < 0 } ? .wrong(subject, detail) : .right(subject, detail)
    }

    /// Reads the files that the apps name, as a delivery worker would.
    private func credentials(
        of apps: [AppID: AppSpec],
        retired: Set<AppID>,
        _ senders: SenderRegistry
    ) async -> [Finding] {
        var findings: [Finding] = []
        for (app, spec) in apps.sorted(by: { $0.key < $1.key }) {
            for declared in DeclaredCredential.all(of: [app: spec]) {
                do {
                    let ends = try senders.ends(app: app, pns: declared.pns, credential: declared.name, spec: spec)
                    let words = "credentials can be read and have the right form"
                    findings.append(Self.finding(declared.subject, words, ends))
                } catch {
                    findings.append(.wrong(declared.subject, error.message))
                }
            }
            if let tokens = spec.tokens {
                findings.append(await Self.keys(of: tokens.keySet, subject: "\(app) tokens"))
            }
            if spec.services.isEmpty, retired.contains(app) {
                findings.append(.right("\(app)", "retired: it declares no push service, and has no key or account"))
            } else if spec.services.isEmpty {
                let sections = PushService.list(PushService.inService)
                findings.append(
                    .wrong(
                        "\(app)",
                        "declares no push service: add \(sections) to its file, or retire it: revoke its keys, remove its accounts"
                    )
                )
            }
        }
        return findings
    }

    /// Reads the keys of an app's own tokens, as the API would.
    static func keys(of place: TokenSettings.KeySetPlace, subject: String) async -> Finding {
        let setting =
            switch place {
            case .file(let path): "tokens.jwks_file: \(path)"
            case .address(let url, _): "tokens.jwks_url: \(url)"
            }
        do throws(KeySetFault) {
            let keys = try KeySet(json: try await KeySource(place, logger: HostOptions.logger).read())
            guard keys.count > 0 else {
                return .wrong(subject, "\(setting): has no key for RS256 or ES256; all tokens are refused")
            }
            return .right(subject, "\(setting): can be read; keys: \(keys.count)")
        } catch {
            return .wrong(subject, "\(setting): \(error.reason)")
        }
    }
}
