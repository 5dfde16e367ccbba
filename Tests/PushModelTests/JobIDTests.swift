import Foundation
import PushModel
import Testing

@Suite struct JobIDTests {
    @Test func layoutOfVersion7() throws {
        let time = Timestamp(milliseconds: 0x0123_4567_89AB)
        var ids: Set<JobID> = []
        for _ in 0..<1000 {
            let id = JobID.make(at: time)
            #expect(id.high >> 16 == 0x0123_4567_89AB)
            #expect((id.high >> 12) & 0xF == 7)
            #expect(id.low >> 62 == 0b10)
            ids.insert(id)
        }
        #expect(ids.count == 1000)
    }

    /// More of them than the digits that count can tell apart, on several threads.
    @Test func idsOfTheSameMillisecondDiffer() async {
        let time = Timestamp(milliseconds: 1)
        let ids = await withTaskGroup(of: Set<JobID>.self) { group in
            for _ in 0..<4 { group.addTask { Set((0..<5000).map { _ in JobID.make(at: time) }) } }
            return await group.reduce(into: Set<JobID>()) { $0.formUnion($1) }
        }
        #expect(ids.count == 20_000)
    }

    @Test func printedFormIsAUUID() throws {
        let id = JobID(high: 0x0190_0000_0001_7ABC, low: 0x8000_0000_0000_00FF)
        #expect(id.description == "01900000-0001-7abc-8000-0000000000ff")
        #expect(UUID(uuidString: id.description) != nil)
    }

    @Test func roundTrips() throws {
        for _ in 0..<1000 {
            let id = JobID(high: .random(in: 0...UInt64.max), low: .random(in: 0...UInt64.max))
            #expect(JobID(id.description) == id)
            #expect(JobID(id.description.uppercased()) == id)
            #expect(JobID(bytes: id.bytes) == id)
            #expect(try JSONDecoder().decode(JobID.self, from: JSONEncoder().encode(id)) == id)
        }
    }

    @Test(arguments: [
        "", "-", "01900000-0001-7abc-8000-0000000000f", "01900000-0001-7abc-8000-0000000000ff0",
        "019000000001-7abc-8000-0000000000ff", "01900000-0001-7abc-80000-000000000ff",
        "g1900000-0001-7abc-8000-0000000000ff", "01900000 0001 7abc 8000 0000000000ff",
        "{1900000-0001-7abc-8000-0000000000f}", "01900000-0001-7abc-8000-0000000000é",
        String(repeating: "0", count: 36), String(repeating: "-", count: 36),
    ])
    func refusesOtherTexts(text: String) {
        #expect(JobID(text) == nil)
    }

    @Test(arguments: [0, 15, 17]) func refusesOtherLengths(count: Int) {
        #expect(JobID(bytes: [UInt8](repeating: 1, count: count)) == nil)
    }

    @Test func notificationIDsOfAJobAreUnique() {
        let job = JobID.make()
        let rows = (0..<100_000).map { Int64($0) } + [.min, .max, -1]
        let ids = Set(rows.map { job.notificationID(row: $0) })
        #expect(ids.count == rows.count)
        #expect(!ids.contains(job))
    }

    @Test func notificationIDsOfNeighbouringJobsDiffer() {
        let first = JobID(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_0000)
        let jobs = (0..<100).map { JobID(high: first.high, low: first.low + UInt64($0)) }
        let ids = Set(jobs.flatMap { job in (1...100).map { job.notificationID(row: $0) } })
        #expect(ids.count == 10_000)
    }

    /// A message that is delivered again after an update of Pushline must carry the same id.
    @Test func theNotificationIDDoesNotChange() {
        let job = JobID(high: 0x0190_0000_0001_7ABC, low: 0x8000_0000_0000_00FF)
        #expect(job.notificationID(row: 1).description == "01900000-0001-8ab8-910a-2dec89025c3e")
        #expect(job.notificationID(row: 1) == job.notificationID(row: 1))
    }

    @Test func notificationIDIsAUUIDOfVersion8() {
        for row in Int64(0)..<1000 {
            let id = JobID.make().notificationID(row: row)
            #expect((id.high >> 12) & 0xF == 8)
            #expect(id.low >> 62 == 0b10)
            #expect(UUID(uuidString: id.description) != nil)
        }
    }
}
