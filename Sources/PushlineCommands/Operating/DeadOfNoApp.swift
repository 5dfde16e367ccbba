import ArgumentParser
import PushModel
import Store

/// The dead letters that name no declared app: they may be any app's, so the host's operator alone sees them.
struct DeadOfNoApp: ParsableArguments {
    @Flag(help: "Those that name no declared app, from the store of this host instead of over the API.")
    var ofNoApp = false

    @Option(help: "With --of-no-app: the server's configuration file.", completion: KnownValues.yamlFiles)
    var config: String?

    func validate() throws {
        guard self.ofNoApp || self.config == nil else { throw ValidationError("--config goes with --of-no-app.") }
    }

    private func host(_ server: ServerOptions) throws -> HostOptions {
        guard server.app == nil else { throw CommandFailure.usage("give --app or --of-no-app") }
        return try HostOptions.parse(
            (self.config.map { ["--config", $0] } ?? []) + ["--format", server.format.rawValue]
        )
    }

    func list(_ limit: Int, _ server: ServerOptions) async throws {
        let host = try self.host(server)
        let letters = try await host.withStore { store in
            var (letters, cursor) = ([DeadLetter](), String?.none)
            repeat {
                let page = try await store.deadLetters(
                    DeadLetterQuery(
                        app: nil,
                        cursor: cursor,
                        limit: min(1000, limit - letters.count)
                    )
                )
                letters += page.items
                cursor = page.cursor
            } while cursor != nil && letters.count < limit
            return letters
        }
        host.show(.array(letters.map(Self.json))) {
            guard !letters.isEmpty else { return ["No dead letters."] }
            var table = Table(["id", "when", "queue", "message", "bytes", "reason"], numeric: [4])
            for letter in letters {
                table.add([
                    String(letter.id), letter.at.iso8601, DeadLetterLines.word(letter.queue),
                    DeadLetterLines.word(letter.messageID), String(letter.size), DeadLetterLines.word(letter.reason),
                ])
            }
            return table.lines
        }
    }

    func discard(_ id: String, _ server: ServerOptions) async throws {
        let host = try self.host(server)
        let removed = try await host.withStore(isChanging: true) { store in
            guard let number = Int64(id) else { return false }
            return try await store.act(.ofHost(.deadDiscard, target: "\(number) of no app")) {
                try await store.discard(deadLetter: number, app: nil) != nil
            }
        }
        guard removed else {
            throw CommandFailure.failed("there is no dead letter \(Console.safe(id)) that names no declared app")
        }
        host.show(.members(["discarded": .string(id)])) { [Console.safe("\(id): discarded")] }
    }

    private static func json(_ letter: DeadLetter) -> JSONValue {
        .members([
            "id": .string(String(letter.id)), "at": .string(letter.at.iso8601), "queue": .string(letter.queue),
            "type": .string(letter.type), "message": .string(letter.messageID), "reason": .string(letter.reason),
            "bytes": .integer(letter.size),
        ])
    }
}
