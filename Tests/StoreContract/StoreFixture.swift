import Foundation
package import Store

/// Apps, and who may do what with them.
package typealias AppAdministration = AccountStore & AdministrationStore & AppStore & HubRuleStore & PauseStore
    & SessionStore

/// A store that a driver makes for one test of administration, on clocks that the test moves; what it keeps goes with it.
///
/// A class, for it is looked up by its name: see ``StoreFixtures``.
package protocol AdministrationFixture: AnyObject, Sendable {
    /// Makes an empty store.
    init(_ options: StoreOptions) throws

    var administration: any AppAdministration { get }
    var time: TestTime { get }

    /// Opens the same store once more, as another process does.
    func anotherAdministration() throws -> any AppAdministration
}

/// A store that has everything.
package protocol StoreFixture: AdministrationFixture {
    var store: any ResultStore { get }

    /// Opens the same store once more, as another process does.
    func another() throws -> any ResultStore

    /// Whether a text stands anywhere in what is stored of jobs and dead letters, in any case of letters.
    func contains(_ text: String) async throws -> Bool

    /// Whether a text stands anywhere in what is stored, in any case of letters.
    func mentions(_ text: String) async throws -> Bool

    /// How many transactions have changed the store through ``store``.
    func writes() async throws -> Int

    /// What the driver's own check of what is stored finds wrong; empty = nothing.
    func faults() async throws -> [String]
}

extension StoreFixture {
    package var administration: any AppAdministration { self.store }

    package func anotherAdministration() throws -> any AppAdministration { try self.another() }
}

/// How a test wants its store.
package struct StoreOptions: Sendable {
    /// The most unfinished jobs; nil = any number.
    package var maximumBacklog: Int?
    /// The most of an app that is in flight at each priority.
    package var window: InFlightWindow

    package init(maximumBacklog: Int? = nil, window: InFlightWindow = InFlightWindow()) {
        self.maximumBacklog = maximumBacklog
        self.window = window
    }
}

/// Where the suites of the contract get their stores from.
package enum StoreFixtures {
    /// Makes a store with the driver whose tests these are.
    ///
    /// The library knows no driver, and suites are discovered before a driver's tests could register one: so its fixture is looked
    /// up by name, `PUSHLINE_STORE_FIXTURE` or that of the SQLite driver.
    package static func make(_ options: StoreOptions = StoreOptions()) throws -> any StoreFixture {
        guard let fixture = try self.makeAdministration(options) as? any StoreFixture else {
            throw Unexpected("the driver has administration alone: only its suites can run")
        }
        return fixture
    }

    /// Makes a store for suites that need its administration alone.
    package static func makeAdministration(_ options: StoreOptions = StoreOptions()) throws -> any AdministrationFixture
    {
        let name = ProcessInfo.processInfo.environment["PUSHLINE_STORE_FIXTURE"] ?? "StoreSQLiteTests.SQLiteFixture"
        guard let fixture = NSClassFromString(name) as? any AdministrationFixture.Type else {
            throw Unexpected("no class \(name) is linked that makes stores")
        }
        return try fixture.init(options)
    }
}

/// A test's setup went wrong.
package struct Unexpected: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
