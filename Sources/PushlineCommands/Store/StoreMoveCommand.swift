import ArgumentParser
import Foundation
import Installation
import PushModel
import Settings
import Store

/// `pushline store move`.
struct StoreMoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Move the store from a file into PostgreSQL, or back. Stop all processes first.",
        discussion: """
            Every row goes over with its numbers, so the broker's messages stay right. The store that is moved stays as it is; what it is moved \
            to must be empty. Of PostgreSQL, whichever of the two it is, give --owner and --password-file. Between two files it makes a copy, as \
            pushline store backup does while everything runs. A move that was broken off goes on where it was: run it again. Then name the new \
            place in the configuration (store.path or store.url), and run pushline store check.
            """
    )

    @Option(help: "The file, or the address as store.url has it.", completion: .file())
    var from: String

    @Option(help: "The file, or the address as store.url has it.", completion: .file())
    var to: String

    @Option(help: "PostgreSQL: the role that owns the tables, or is to.")
    var owner: String?

    @Option(help: "PostgreSQL: the file with the owner's password, and nothing else.", completion: .file())
    var passwordFile: String?

    @Option(help: "How to print.")
    var format = OutputFormat.text

    func validate() throws {
        if self.passwordFile != nil, self.owner == nil { throw ValidationError("--password-file goes with --owner") }
    }

    func run() async throws {
        let (source, target) = (MovePlace(self.from), MovePlace(self.to))
        let owner = self.owner.map { TableOwner(role: $0, passwordFile: self.passwordFile) }
        var progress = ProgressLine(of: "row")
        let rows: Int
        do {
            rows = try Composition.move(from: source, to: target, as: owner, by: .ofHost(.storeMove)) { count, total in
                progress.show(count, share: total > 0 ? Double(count) / Double(total) : 1)
            }
            progress.end()
        } catch let error as StoreError {
            progress.end()
            throw CommandFailure.failed(error.message)
        }
        guard self.format == .text else {
            let members: JSONValue = .members([
                "from": .string(source.description), "to": .string(target.description), "rows": .integer(rows),
            ])
            return Console.print(members.indentedText)
        }
        Console.print("\(target.description): \(Plural.of(rows, "row")), the same as in \(source.description)")
        Console.note(
            "pushline: name it in the configuration, move the old place away (who opens that sends again), and run pushline store check next"
        )
    }
}
