package import Store
import Synchronization
package import Testing

/// Apps, and who may do what with them.
package typealias AppAdministration = AccountStore & ActStore & AdministrationStore & AppStore & HubRuleStore
    & PauseStore
    & SessionStore

/// A store that a driver makes for one test of administration, on clocks that the test moves; what it keeps goes with it.
package protocol AdministrationFixture: Sendable {
    var administration: any AppAdministration { get }
    var deadLetters: any DeadLetterStore { get }
    var time: TestTime { get }

    /// Opens the same store once more, as another process does.
    func anotherAdministration() throws -> any AppAdministration
}

/// Jobs and their messages, of apps that are declared.
package typealias JobOutbox = AppAdministration & JobStore & OutboxStore

/// A store that accepts jobs.
package protocol OutboxFixture: AdministrationFixture {
    var outbox: any JobOutbox { get }

    /// Opens the same store once more, as another process does.
    func anotherOutbox() throws -> any JobOutbox
}

/// A store that has everything.
package protocol StoreFixture: RegistrationFixture {
    var store: any ResultStore { get }

    /// Opens the same store once more, as another process does.
    func another() throws -> any ResultStore

    /// Whether a text stands anywhere in what is stored of jobs and dead letters, in any case of letters.
    func contains(_ text: String) async throws -> Bool

    /// Whether a text stands anywhere in what is stored, in any case of letters.
    func mentions(_ text: String) async throws -> Bool

    /// How many transactions have changed the store through ``store``.
    func writes() async throws -> Int
}

extension StoreFixture {
    package var administration: any AppAdministration { self.store }
    package var deadLetters: any DeadLetterStore { self.store }

    package var outbox: any JobOutbox { self.store }

    package func anotherAdministration() throws -> any AppAdministration { try self.another() }
    package func anotherOutbox() throws -> any JobOutbox { try self.another() }
}

/// What a driver has, or a suite needs.
package struct StoreParts: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let administration = StoreParts(rawValue: 1)
    /// Accepting jobs, and their messages.
    package static let outbox = StoreParts(rawValue: 2)
    /// Changing registrations, and finding the devices of audiences.
    package static let registrations = StoreParts(rawValue: 4)
    package static let all = StoreParts(rawValue: -1)
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

/// Makes an empty store with a driver; one that has not everything is no ``StoreFixture``.
package typealias StoreMaker = @Sendable (StoreOptions) throws -> any AdministrationFixture

/// Where the suites of the contract get their stores from: each of their tests is run with every driver that has said how.
package enum StoreFixtures {
    @TaskLocal fileprivate static var maker: StoreMaker?
    /// By the names of their drivers; what each has.
    fileprivate static let drivers = Mutex<[String: (maker: StoreMaker, parts: StoreParts)]>([:])

    /// Makes a store with the driver that the present test is run with.
    package static func make(_ options: StoreOptions = StoreOptions()) throws -> any StoreFixture {
        guard let fixture = try self.makeAdministration(options) as? any StoreFixture else {
            throw Unexpected("the driver has not everything: its suites have the trait .everyStore(with:)")
        }
        return fixture
    }

    /// Makes a store for suites that need its outbox.
    package static func makeOutbox(_ options: StoreOptions = StoreOptions()) throws -> any OutboxFixture {
        guard let fixture = try self.makeAdministration(options) as? any OutboxFixture else {
            throw Unexpected("the driver accepts no jobs: its suites have the trait .everyStore(with:)")
        }
        return fixture
    }

    /// Makes a store for suites that need its registrations.
    package static func makeRegistrations(_ options: StoreOptions = StoreOptions()) throws -> any RegistrationFixture {
        guard let fixture = try self.makeAdministration(options) as? any RegistrationFixture else {
            throw Unexpected("the driver has no registrations: its suites have the trait .everyStore(with:)")
        }
        return fixture
    }

    /// Makes a store with each driver that has everything, for what is compared.
    ///
    /// - Returns: Them with their drivers' names, in the order of these.
    static func makeOfEach(_ options: StoreOptions) throws -> [(driver: String, fixture: any StoreFixture)] {
        let drivers = self.drivers.withLock { $0 }.sorted { $0.key < $1.key }
        return try drivers.compactMap { name, driver in
            guard driver.parts == .all, let fixture = try driver.maker(options) as? any StoreFixture else { return nil }
            return (name, fixture)
        }
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
    /// What a driver must have for it.
    fileprivate let needs: StoreParts

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let drivers = StoreFixtures.drivers.withLock { Array($0.values) }
        let makers = drivers.filter { $0.parts.isSuperset(of: self.needs) }.map(\.maker)
        guard !makers.isEmpty else { throw Unexpected("no driver's tests have a suite with the trait .passesContract") }
        for maker in makers { try await StoreFixtures.$maker.withValue(maker) { try await function() } }
    }
}

/// Of a suite of a driver's tests: says how it makes its stores.
package struct StoreTrait: SuiteTrait {}

extension Trait where Self == EveryStoreTrait {
    /// The suite belongs to the contract.
    package static var everyStore: Self { EveryStoreTrait(needs: .all) }

    /// The suite belongs to the contract of administration.
    package static var everyAdministration: Self { .everyStore(with: .administration) }

    /// The suite belongs to the contract of a part.
    package static func everyStore(with parts: StoreParts) -> Self { EveryStoreTrait(needs: parts) }
}

extension Trait where Self == StoreTrait {
    /// The driver passes the contract with the stores that this makes.
    ///
    /// Traits are made when tests are looked for, which is before the first of them is run.
    package static func passesContract(
        as driver: String,
        _ maker: @escaping @Sendable (StoreOptions) throws -> any StoreFixture
    ) -> Self {
        StoreFixtures.drivers.withLock { $0[driver] = (maker, .all) }
        return StoreTrait()
    }

    /// The driver passes the contract of parts of a store, where its server is there.
    package static func passes(
        _ parts: StoreParts,
        as driver: String,
        if isThere: Bool,
        _ maker: @escaping StoreMaker
    ) -> Self {
        if isThere { StoreFixtures.drivers.withLock { $0[driver] = (maker, parts) } }
        return StoreTrait()
    }
}

/// A test's setup went wrong.
package struct Unexpected: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
