import ArgumentParser
import Authentication
import HubWire
import Installation
import PushModel
import Settings
import Store

/// `pushline hub`.
struct HubCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub",
        abstract:
            "Manage who may call an app's hub on the wire of Azure Notification Hubs (pushline-hub), or import a hub.",
        subcommands: [HubRulesCommand.self, HubImportCommand.self]
    )
}

/// `pushline hub rules`.
struct HubRulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules",
        abstract: "Create, list, rotate or delete rules, on this host.",
        subcommands: [Create.self, List.self, Rotate.self, Delete.self]
    )

    /// Where the server listens, for connection strings.
    struct EndpointOption: ParsableArguments {
        @Option(
            help: "The host and port that clients connect to. Default: hub.host and hub.port of the configuration."
        )
        var endpoint: String?

        func authority(_ hub: HubSettings) -> String {
            self.endpoint ?? "\(hub.host.contains(":") ? "[\(hub.host)]" : hub.host):\(hub.port)"
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a rule. Its keys are shown once, as connection strings.",
            discussion:
                "Only the first key's connection string goes to standard output: HUB=$(pushline hub rules create NAME --rights send)"
        )

        @OptionGroup var host: HostOptions
        @OptionGroup var app: AppOption
        @OptionGroup var endpoint: EndpointOption

        @Argument(help: "Names the rule in tokens and jobs: letters, digits and - _ .")
        var name: String

        @Option(
            help:
                "What it allows, separated by commas: listen (devices register), send, manage (lists of registrations).",
            completion: .list(HubRule.Right.allCases.map(\.rawValue))
        )
        var rights: String

        func validate() throws {
            do { try HubRule.check(name: self.name) } catch { throw ValidationError("\(error.reason).") }
            _ = try self.chosen()
        }

        private func chosen() throws -> Set<HubRule.Right> {
            let words = self.rights.split(separator: ",").map { $0.lowercased() }
            let rights = words.compactMap(HubRule.Right.init(rawValue:))
            guard !rights.isEmpty, rights.count == words.count else {
                throw ValidationError("--rights has one or more of listen, send and manage, separated by commas.")
            }
            // As the original: what lists and reads telemetry asks for one of the others too.
            guard !rights.contains(.manage) || Set(rights) == Set(HubRule.Right.allCases) else {
                throw ValidationError("The right manage goes with both others: --rights listen,send,manage.")
            }
            return Set(rights)
        }

        func run() async throws {
            let configuration = try self.host.configuration()
            let authority = self.endpoint.authority(configuration.hub)
            let rights = try self.chosen()
            let rule = try await self.host.withStore(of: configuration, isChanging: true) { store in
                let rule = HubRule(
                    app: try await self.app.id(in: store),
                    name: self.name,
                    rights: rights,
                    primaryKey: HubKey.make(),
                    secondaryKey: HubKey.make(),
                    created: .now
                )
                do {
                    _ = try await store.act(.ofHost(.ruleAdd, app: rule.app, target: self.name)) {
                        try await store.apply(.hubRule(.add(rule)))
                    }
                } catch let error as StoreError where error.code == .conflict {
                    throw CommandFailure.failed(
                        "\(rule.app) has a rule named \"\(self.name)\"; choose another name, or delete that rule"
                    )
                }
                return rule
            }
            let (primary, secondary) = (
                ConnectionString(authority: authority, rule: rule.name, key: rule.primaryKey).text,
                ConnectionString(authority: authority, rule: rule.name, key: rule.secondaryKey).text
            )
            Console.note(
                "\(rule.name): created for the hub \"\(rule.app)\" with \(rule.rightsText); its keys are not shown again. The second one:"
            )
            Console.note(secondary)
            let output = JSONValue.members([
                "app": .string(rule.app.name), "name": .string(rule.name),
                "rights": .strings(rule.rights.sorted().map(\.rawValue)), "primary": .string(primary),
                "secondary": .string(secondary),
            ])
            self.host.show(output) { [primary] }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the rules of an app's hub, without their keys.")

        @OptionGroup var host: HostOptions
        @OptionGroup var app: AppOption

        func run() async throws {
            let rules = try await self.host.withStore { store in
                try await store.hubRules(app: self.app.id(in: store))
            }
            let output = JSONValue.array(
                rules.map { rule in
                    .members([
                        "name": .string(rule.name), "rights": .strings(rule.rights.sorted().map(\.rawValue)),
                        "created": .string(rule.created.iso8601),
                    ])
                }
            )
            self.host.show(output) { rules.map { "\($0.name): \($0.rightsText), created \($0.created.iso8601)" } }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace one of a rule's two keys. The new one is shown once; the other one keeps working.",
            discussion:
                "To rotate without an interruption: move every client to the second key, replace the first, and the other way round."
        )

        @OptionGroup var host: HostOptions
        @OptionGroup var app: AppOption
        @OptionGroup var endpoint: EndpointOption

        @Argument(help: "The rule.")
        var name: String

        @Option(help: "primary or secondary.", completion: .list(HubRule.Key.allCases.map(\.rawValue)))
        var key: String

        func validate() throws {
            guard HubRule.Key(rawValue: self.key) != nil else {
                throw ValidationError("--key is primary or secondary.")
            }
        }

        func run() async throws {
            guard let key = HubRule.Key(rawValue: self.key) else { throw CommandFailure.usage("--key: unknown") }
            let configuration = try self.host.configuration()
            let authority = self.endpoint.authority(configuration.hub)
            let text = HubKey.make()
            let app = try await self.host.withStore(of: configuration, isChanging: true) { store in
                let app = try await self.app.id(in: store)
                let isThere = try await store.act(
                    .ofHost(.ruleChange, app: app, target: "\(self.name), \(self.key) key")
                ) {
                    try await store.apply(.hubRule(.replace(key, with: text, ofRule: self.name, app: app)))
                }
                guard isThere else {
                    throw CommandFailure.failed("\(app) has no rule named \"\(self.name)\"")
                }
                return app
            }
            let connection = ConnectionString(authority: authority, rule: self.name, key: text).text
            Console.note("\(self.name): the \(self.key) key is replaced; the new one is not shown again:")
            let output = JSONValue.members([
                "app": .string(app.name), "name": .string(self.name), self.key: .string(connection),
            ])
            self.host.show(output) { [connection] }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a rule. Its keys stop working.")

        @OptionGroup var host: HostOptions
        @OptionGroup var app: AppOption

        @Argument(help: "The rule.")
        var name: String

        func run() async throws {
            let app = try await self.host.withStore(isChanging: true) { store in
                let app = try await self.app.id(in: store)
                let isThere = try await store.act(.ofHost(.ruleRemove, app: app, target: self.name)) {
                    try await store.apply(.hubRule(.delete(named: self.name, app: app)))
                }
                guard isThere else {
                    throw CommandFailure.failed("\(app) has no rule named \"\(self.name)\"")
                }
                return app
            }
            let output = JSONValue.members(["app": .string(app.name), "name": .string(self.name)])
            self.host.show(output) { ["\(self.name): deleted from \(app)"] }
        }
    }
}

extension HubRule {
    /// `listen, send`.
    fileprivate var rightsText: String { self.rights.sorted().map(\.rawValue).joined(separator: ", ") }
}
