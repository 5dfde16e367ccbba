import Logging
import Settings
import Store
import Testing

@testable import Installation

/// What is said of a store at servers, and what is not.
@Suite struct ServerStoreTests {
    private static let act = NewAct(app: nil, by: "host:root", via: .host, origin: "here", kind: .storeMigrate)

    private func store(_ url: String, _ settings: [String: String] = [:]) throws -> any ConfiguredStore {
        let environment = ["PUSHLINE_STORE_PATH": "", "PUSHLINE_STORE_URL": url]
        let configuration = try PushlineConfiguration(file: nil, environment: environment.merging(settings) { $1 })
        return Composition.store(configuration)
    }

    @Test func itsPlaceIsItsServersAndItsDatabase() throws {
        let store = try self.store("postgresql://me@one,two:6000/push?sslmode=require")
        #expect(store.place == "PostgreSQL at one:5432, two:6000, database push")
        #expect(store.metadata.values.map { "\($0)" } == [store.place])
        #expect(store.advice.setting == "store.url or PUSHLINE_STORE_URL")
    }

    @Test(arguments: ["postgresql://me:secret@one/push", "host=one password=secret", "secret://"])
    func anAddressThatIsRefusedIsNotRepeated(_ url: String) async throws {
        let store = try self.store(url)
        #expect(store.place == "store.url")
        let error = await #expect(throws: ConfigurationError.self) {
            try await store.open(logger: Logger(label: "test"))
        }
        #expect(error?.message.hasPrefix("store.url: the store's address ") == true)
        #expect(error?.message.contains("secret") == false)
        #expect(throws: ConfigurationError.self) { try store.pendingSteps(as: nil) }
    }

    @Test func whatOnlyAFileHasIsAnsweredInOneLine() throws {
        let store = try self.store("postgresql://me@one/push")
        for body in [
            { try store.backUp(to: "/nowhere") },
            { _ = try store.restore(from: "/nowhere", stoppingUnfinished: false, by: Self.act) },
        ] as [() throws -> Void] {
            let error = #expect(throws: StoreError.self, performing: body)
            #expect(error?.message.hasPrefix("PostgreSQL makes its own backups") == true)
        }
        let error = #expect(throws: ConfigurationError.self) { try store.takeStep(to: 1, as: nil, by: Self.act) }
        #expect(error?.message.contains("--owner") == true)
        let file = Composition.store(PushlineConfiguration())
        let owner = TableOwner(role: "owner", passwordFile: nil)
        let refused = #expect(throws: StoreError.self) { try file.pendingSteps(as: owner) }
        #expect(refused?.message == "a file has no roles: use --owner only with store.url")
    }

    /// Processes of a host share a port where they have the same store.
    @Test func portsAreClaimedForTheServersAndTheDatabase() throws {
        let folder = ["PUSHLINE_STORE_LOCK_FOLDER": "/var/lib/pushline"]
        func base(_ url: String, _ settings: [String: String]) throws -> String {
            try self.store(url, settings).portClaim.base
        }
        let one = try base("postgresql://me@one/push", folder)
        #expect(one.hasPrefix("/var/lib/pushline/pushline-"))
        #expect(try base("postgresql://other@one:5432/push", folder) == one)
        #expect(try base("postgresql://me@two/push", folder) != one)
        #expect(try base("postgresql://me@one/other", folder) != one)
        #expect(try !base("postgresql://me@one/push", [:]).hasPrefix("/var/lib/pushline"))
    }
}
