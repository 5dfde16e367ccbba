import Foundation
import PushModel
import Store
import Testing

/// Random steps, the same at a store of each driver: whatever can be seen of the one can be seen of the others.
///
/// As many steps a seed as PUSHLINE_TEST_STEPS says, from the seed PUSHLINE_TEST_SEED on. Where there is one driver alone, two of its stores are
/// compared.
@Suite struct DifferentialContract {
    private static let steps = ProcessInfo.processInfo.environment["PUSHLINE_TEST_STEPS"].flatMap(Int.init) ?? 150
    private static let seeds: ClosedRange<UInt64> = {
        let first = ProcessInfo.processInfo.environment["PUSHLINE_TEST_SEED"].flatMap(UInt64.init) ?? 1
        return first...first + 2
    }()
    /// How often all is looked at.
    private static let between = 20

    @Test(arguments: Self.seeds) func allDriversSayTheSame(seed: UInt64) async throws {
        let window = InFlightWindow(devices: 60, messages: 12, jobMessages: 10)
        let options = StoreOptions(maximumBacklog: 150, window: window)
        var stores = try StoreFixtures.makeOfEach(options)
        if stores.count == 1 { stores += try StoreFixtures.makeOfEach(options) }
        try #require(stores.count > 1, "no driver's tests have a suite with the trait .passesContract")
        var works = try stores.map { try RandomWork($0.fixture.store, $0.fixture.time, seed: seed) }
        for work in works { for app in work.apps { try await work.store.apply(.app(app, AppSpec())) } }
        for number in 0..<Self.steps {
            let isLook = number % Self.between == Self.between - 1 || number == Self.steps - 1
            var said: [[String]] = []
            for index in works.indices {
                said.append(try await works[index].step(number))
                if isLook { said[index] += try await works[index].view(number) }
            }
            for (index, other) in said.enumerated().dropFirst() {
                guard let difference = Self.difference(said[0], other) else { continue }
                let kind = RandomWork.kind(of: number, seed: seed)
                Issue.record(
                    """
                    seed \(seed), step \(number), \(kind):
                    \(stores[0].driver): \(difference.0)
                    \(stores[index].driver): \(difference.1)
                    """
                )
                return
            }
            // Nobody else writes: whatever has changed each time that it was read is a guard that can never hold.
            try #require(!said.joined().contains(RandomWork.refused(.unavailable)), "seed \(seed), step \(number)")
            guard isLook else { continue }
            for (work, store) in zip(works, stores) {
                #expect(try await work.faults() == [], "seed \(seed), step \(number)")
                #expect(try await store.fixture.faults() == [], "seed \(seed), step \(number)")
            }
        }
    }

    /// The first words that are not the same.
    private static func difference(_ one: [String], _ other: [String]) -> (String, String)? {
        for index in 0..<max(one.count, other.count) {
            let (first, second) = (
                index < one.count ? one[index] : "nothing", index < other.count ? other[index] : "nothing"
            )
            if first != second { return (first, second) }
        }
        return nil
    }
}
