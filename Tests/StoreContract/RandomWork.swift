import PushModel
import SeededRandom
package import Store

/// Random steps at a store, as all programs together make them, and what is known by them.
///
/// Two stores that are worked at by the same seeds are asked the same, as long as they have given the same answers.
package struct RandomWork: Sendable {
    /// A step; each is made as often as its weight says.
    enum Kind: String, CaseIterable, Sendable {
        case acceptance, work, publication, taking, deferral, redelivery, cancelling, death, replay
        case time, chore, importing, administration, contents, calls, credit

        fileprivate var weight: Int {
            switch self {
            case .acceptance: 16
            case .work: 40
            case .publication, .deferral, .chore, .administration: 4
            case .taking: 12
            case .time: 10
            case .redelivery, .cancelling, .death, .replay, .contents, .calls, .importing, .credit: 2
            }
        }
    }

    let store: any ResultStore
    let time: TestTime
    let apps: [AppID]
    /// How much of a list or a chore is gone through, in pages.
    package var mostPages = 1000
    private let seed: UInt64
    var random: SeededGenerator
    /// Those that were seen last.
    var messages: [OutboxMessage] = []
    var jobs: [Job] = []
    /// Claims of workers that are slow.
    var claims: [FanOutClaim] = []
    var contents: [(id: String, app: AppID)] = []
    var notifications: [(id: Int32, app: AppID)] = []

    /// How many steps bring devices, before all others.
    private static let beginning = 12
    private static let mostMessages = 60
    private static let mostJobs = 150

    package init(_ store: any ResultStore, _ time: TestTime, seed: UInt64) throws {
        (self.store, self.time, self.seed) = (store, time, seed)
        self.random = SeededGenerator(seed: seed)
        self.apps = [.default, try AppID("shop")]
    }

    /// What a step is, whatever store it is made at.
    static func kind(of number: Int, seed: UInt64) -> Kind {
        // Without devices all work comes to nothing.
        guard number >= Self.beginning else { return .importing }
        var random = Self.generator(of: number, seed: seed)
        var left = Int.random(in: 0..<Kind.allCases.reduce(0) { $0 + $1.weight }, using: &random)
        for kind in Kind.allCases {
            left -= kind.weight
            if left < 0 { return kind }
        }
        return .work
    }

    private static func generator(of number: Int, seed: UInt64) -> SeededGenerator {
        SeededGenerator(seed: seed &* 0x1_0000_0001 &+ UInt64(number))
    }

    /// Makes the step of that number.
    ///
    /// - Returns: What came of it, in words.
    package mutating func step(_ number: Int) async throws -> [String] {
        self.random = Self.generator(of: number, seed: ~self.seed)
        defer {
            self.messages = Array(self.messages.suffix(Self.mostMessages))
            self.jobs = Array(self.jobs.suffix(Self.mostJobs))
        }
        do { return try await self.make(Self.kind(of: number, seed: self.seed)) } catch let error as StoreError {
            return [Self.refused(error.code)]
        }
    }

    static func refused(_ code: StoreError.Code) -> String { "refused: \(code)" }

    private mutating func make(_ kind: Kind) async throws -> [String] {
        switch kind {
        case .acceptance: try await self.accept()
        case .work: try await self.work()
        case .publication: try await self.publish()
        case .taking: try await self.take()
        case .deferral: try await self.deferOne()
        case .redelivery: try await self.redeliver()
        case .cancelling: try await self.cancel()
        case .death: try await self.die()
        case .replay: try await self.replay()
        case .time: self.pass()
        case .chore: try await self.chore()
        case .importing: try await self.importSome()
        case .administration: try await self.administer()
        case .contents: try await self.keepContent()
        case .calls: try await self.call()
        case .credit: try await self.lookAtCredit()
        }
    }

    // MARK: Choosing

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self.random) < percent }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self.random) }

    mutating func one<Element>(of some: [Element]) -> Element? { some.randomElement(using: &self.random) }

    mutating func app() -> AppID { self.one(of: self.apps) ?? .default }

    mutating func user() throws -> UserName { try UserName(["ann", "bob", "Cy", "dan"][self.number(0...3)], .folded) }

    mutating func tag() throws -> PushModel.Tag { try PushModel.Tag("t\(self.number(0...4))", .folded) }

    mutating func pns() -> PushService { [.apns, .apns, .fcm][self.number(0...2)] }

    mutating func handle() -> Handle { Handle(stored: "handle\(self.number(0...59))") }

    mutating func registration() throws -> RegistrationID {
        guard let id = RegistrationID("device\(self.number(0...49))") else { throw Unexpected("no id") }
        return id
    }

    mutating func priority() -> Priority { [.high, .normal, .normal, .low][self.number(0...3)] }

    mutating func seconds(_ range: ClosedRange<Int>) -> Duration { .seconds(Int64(self.number(range))) }

    // MARK: Time

    private mutating func pass() -> [String] {
        let time: Duration =
            switch self.number(0...99) {
            case 0..<70: .milliseconds(Int64(self.number(1...3000)))
            case 70..<95: self.seconds(3...120)
            case 95..<99: self.seconds(120...4000)
            default: self.seconds(4000...200_000)
            }
        self.time.advance(time)
        return []
    }

    private mutating func chore() async throws -> [String] {
        let age = self.seconds(0...200_000)
        let chores: [Chore] =
            [.startScheduled, .expireJobs, .expireJobs, .pruneRegistrations, .expireRegistrations]
            + Retained.allCases.map { .remove($0, olderThan: age) }
        guard let chore = self.one(of: chores) else { return [] }
        // Of how many chunks that is an engine's own affair.
        var (rows, next) = (0, chore)
        for _ in 0..<self.mostPages {
            let chunk = try await self.store.perform(next, limit: 100)
            rows += chunk.rows
            if case .remove(let kind, let age, _) = next {
                guard let after = chunk.next else { break }
                next = .remove(kind, olderThan: age, after: after)
            } else if chunk.rows == 0 {
                break
            }
        }
        return ["\(chore): \(rows)"]
    }

    private mutating func lookAtCredit() async throws -> [String] {
        let (app, pns, priority) = (self.app(), self.pns(), self.priority())
        var said: [String] = []
        for kind in CreditKind.allCases {
            let credit = try await self.store.credit(for: kind, app: app, pns: pns, priority: priority)
            said.append(Description.of((app, pns, priority, kind, credit)))
        }
        return said
    }
}
