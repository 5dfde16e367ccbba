package import Store
import Synchronization
package import Testing

/// Apps, and who may do what with them.
package typealias AppAdministration = AccountStore & AdministrationStore & AppStore & HubRuleStore & PauseStore
    & SessionStore

/// A store that a driver makes for one test of administration, on clocks that the test moves; what it keeps goes with it.
package protocol AdministrationFixture: Sendable {
    var administration: any AppAdministration { get }
    var deadLetters: any DeadLetterStore { get }
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
    package var deadLetters: any DeadLetterStore { self.store }

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

/// Makes an empty store with a driver; one that has administration alone is no ``StoreFixture``.
package typealias StoreMaker = @Sendable (StoreOptions) throws -> any AdministrationFixture

/// Where the suites of the contract get their stores from: each of their tests is run with every driver that has said how.
package enum StoreFixtures {
    @TaskLocal fileprivate static var maker: StoreMaker?
    /// By the names of their drivers; whether each has everything.
    fileprivate static let drivers = Mutex<[String: (maker: StoreMaker, isWhole: Bool)]>([:])

    /// Makes a store with the driver that the present test is run with.
    package static func make(_ options: StoreOptions = StoreOptions()) throws -> any StoreFixture {
        guard let fixture = try self.makeAdministration(options) as? any StoreFixture else {
            throw Unexpected("the driver has administration alone: its suites have the trait .everyAdministration")
        }
        return fixture
    }

    /// Makes a store for suites that need its administration alone.
    package static func makeAdministration(_ options: StoreOptions = StoreOptions()) throws -> any AdministrationFixture
    {
        guard let maker = Self.maker else { throw Unexpected("the suite lacks the trait .everyStore") }
        return try maker(options)
    }
}

/// Of a suite of the contract: its tests are run with every driver.
package struct EveryStoreTrait: TestTrait, SuiteTrait, TestScoping {
    /// Whether drivers do that have administration alone.
    fileprivate let isAdministration: Bool

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let drivers = StoreFixtures.drivers.withLock { Array($0.values) }
        let makers = drivers.filter { self.isAdministration || $0.isWhole }.map(\.maker)
        guard !makers.isEmpty else { throw Unexpected("no driver's tests have a suite with the trait .passesContract") }
        for maker in makers { try await StoreFixtures.$maker.withValue(maker) { try await function() } }
    }
}

/// Of a suite of a driver's tests: says how it makes its stores.
package struct StoreTrait: SuiteTrait {}

extension Trait where Self == EveryStoreTrait {
    /// The suite belongs to the contract.
    package static var everyStore: Self { EveryStoreTrait(isAdministration: false) }

    /// The suite belongs to the contract of administration.
    package static var everyAdministration: Self { EveryStoreTrait(isAdministration: true) }
}

extension Trait where Self == StoreTrait {
    /// The driver passes the contract with the stores that this makes.
    ///
    /// Traits are made when tests are looked for, which is before the first of them is run.
    package static func passesContract(
        as driver: String,
        _ maker: @escaping @Sendable (StoreOptions) throws -> any StoreFixture
    ) -> Self {
        StoreFixtures.drivers.withLock { $0[driver] = (maker, true) }
        return StoreTrait()
    }

    /// The driver passes the contract of administration, where its server is there.
    package static func passesAdministration(as driver: String, if isThere: Bool, _ maker: @escaping StoreMaker) -> Self
    {
        if isThere { StoreFixtures.drivers.withLock { $0[driver] = (maker, false) } }
        return StoreTrait()
    }
}

/// A test's setup went wrong.
package struct Unexpected: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
