import ArgumentParser
import Foundation
import PushModel
import Store

/// `pushline apps`.
struct AppsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apps",
        abstract: "Declare apps, or show their declarations.",
        subcommands: [Apply.self, Show.self]
    )

    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create or change the apps that a file declares, and print the changes.",
            discussion: """
                Config/apps.example.yaml has every key. Applying a file again changes nothing; apps that it does not name stay \
                as they are. The servers take a change up within seconds.
                """
        )

        @OptionGroup var host: HostOptions

        @Argument(help: "The YAML file.", completion: KnownValues.yamlFiles)
        var file: String

        func run() async throws {
            let apps = try AppsFile.read(self.file).apps.sorted { $0.key < $1.key }
            for (app, spec) in apps { Self.warnOfMissingFiles(of: app, spec) }
            let changes = try await self.host.withStore(isChanging: true, mayCreate: true) { store in
                var changes: [Change] = []
                for (app, spec) in apps {
                    let before = try await store.app(app)
                    let isChanged: Bool
                    do {
                        isChanged = try await store.act(.ofHost(.appApply, app: app)) {
                            try await store.apply(.app(app, spec))
                        }
                    } catch let error as StoreError where error.code == .conflict {
                        throw CommandFailure.failed("apps.\(app): \(error.message)")
                    }
                    changes.append(Change(app: app, before: before, after: spec, isChanged: isChanged))
                }
                return changes
            }
            self.host.show(.array(changes.map(\.json))) { changes.flatMap(\.lines) }
        }

        /// A file may come later, and the workers may run as another user: no error.
        private static func warnOfMissingFiles(of app: AppID, _ spec: AppSpec) {
            for (path, text) in spec.leaves where path.hasSuffix("_file") {
                guard !FileManager.default.isReadableFile(atPath: text) else { continue }
                let words =
                    FileManager.default.fileExists(atPath: text)
                    ? "cannot be read by this user; pushline doctor checks it"
                    : "there is no such file; \(Self.consequence(of: path))"
                Console.note("pushline: apps.\(app).\(path): \(text): \(words)")
            }
        }

        /// What waits for a file, by the section that names it.
        private static func consequence(of path: String) -> String {
            let service = path.split(separator: ".").first.flatMap { PushService(rawValue: String($0)) }
            return service.map { "sends by \($0.descriptor.title) wait until it is there" }
                ?? "it is read when it is there"
        }
    }

    /// The change of an app.
    struct Change {
        let app: AppID
        let before: AppSpec?
        let after: AppSpec
        let isChanged: Bool

        private var word: String { self.before == nil ? "declared" : self.isChanged ? "changed" : "unchanged" }

        var lines: [String] {
            let details = self.before?.changes(to: self.after) ?? []
            return ["\(self.app): \(self.word)"]
                + details.map { "  \($0.path): \($0.old ?? "(none)") -> \($0.new ?? "(none)")" }.map(Console.safe)
        }

        var json: JSONValue {
            let details = self.before?.changes(to: self.after) ?? []
            return .members([
                "app": .string(self.app.name),
                "result": .string(self.word),
                "changes": .array(
                    details.map {
                        .members([
                            "key": .string($0.path), "old": $0.old.map(JSONValue.string),
                            "new": $0.new.map(JSONValue.string),
                        ])
                    }
                ),
            ])
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the declarations of apps, with defaults."
        )

        @OptionGroup var host: HostOptions

        @Argument(help: "The app. Default: all.")
        var name: String?

        func run() async throws {
            var apps = try await self.host.withStore { try await $0.apps() }
            if let name = self.name {
                apps = apps.filter { $0.key.name == name }
                guard !apps.isEmpty else {
                    throw CommandFailure.failed("there is no app \"\(name)\"; pushline apps show lists those there are")
                }
            }
            let sorted = apps.sorted { $0.key < $1.key }
            self.host.show(.object(sorted.map { JSONValue.Member($0.key.name, $0.value.written) })) {
                guard !sorted.isEmpty else { return ["No app is declared; pushline apps apply FILE declares them."] }
                return sorted.flatMap { app, spec in
                    let leaves = spec.leaves
                    let width = leaves.map(\.path.count).max() ?? 0
                    return ["\(app):"]
                        + leaves.map { path, text in
                            "  \(path)\(String(repeating: " ", count: width - path.count))  \(Console.safe(text))"
                        }
                }
            }
        }
    }
}
