import StoreKit
import Testing

@Suite struct SchemaPlanTests {
    private let plan = SchemaPlan(steps: [
        SchemaStep(.expand, "two", sql: ""), SchemaStep(.expand, "three", sql: ""),
        SchemaStep(.contract, "four", sql: ""),
        SchemaStep(.expand, "five", sql: ""),
    ])

    /// A program opens its own version, and the next one if that only expands.
    @Test func whatAProgramOpens() {
        var found = SchemaVersion.first
        var opens: [Int: [Int]] = [1: [1]]
        for number in 2...5 {
            found = self.plan.version(number, after: found)
            opens[number] = (1...5).filter { version in
                SchemaPlan(steps: Array(self.plan.steps.prefix(version - 1))).fit(found) == .fits
            }
        }
        #expect(opens == [1: [1], 2: [1, 2], 3: [2, 3], 4: [4], 5: [4, 5]])
    }

    @Test func whatAProgramRefuses() {
        #expect(self.plan.fit(.first) == .behind)
        #expect(SchemaPlan().fit(SchemaVersion(number: 2, opensFrom: 2)) == .ahead)
        #expect(SchemaPlan().fit(SchemaVersion(number: 3, opensFrom: 2)) == .ahead)
        #expect(SchemaPlan().fit(SchemaVersion(number: 2, opensFrom: 1)) == .fits)
    }

    @Test func theStepsThatAStoreNeeds() {
        #expect(self.plan.steps(after: .first).map(\.summary) == ["two", "three", "four", "five"])
        #expect(self.plan.steps(after: SchemaVersion(number: 3, opensFrom: 2)).map(\.summary) == ["four", "five"])
        #expect(self.plan.steps(after: SchemaVersion(number: 9, opensFrom: 9)).isEmpty)
    }
}
