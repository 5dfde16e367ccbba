import Foundation
import NIOConcurrencyHelpers
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Work of all kinds over connections that are cut at any byte: whatever was answered or not, all adds up, and nothing is accepted twice.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct CutWorkTests {
    private let keep: StoreAdministration
    private let proxy: CuttingProxy

    /// How many cuts there are at least; PUSHLINE_TEST_CUTS says how many in each of these tests.
    private static let cuts = ProcessInfo.processInfo.environment["PUSHLINE_TEST_CUTS"].flatMap(Int.init) ?? 200
    private static let callers = 4

    init() throws {
        self.keep = try StoreAdministration(StoreOptions())
        self.proxy = try CuttingProxy(before: try #require(Int(try TestServer.ports()[0])))
    }

    /// Opens a store, whose connections are cut from then on.
    private func store(isEncrypted: Bool = false) throws -> PostgreSQLStore {
        let (port, schema) = (self.proxy.port, self.keep.schema)
        let addresses =
            isEncrypted
            ? try TestServer.addresses(.programs, schema: schema, ports: ["\(port)"])
            : try TestServer.plainAddresses([port], schema: schema)
        let store = try PostgreSQLStore(addresses, clock: self.keep.engine.clock)
        self.proxy.cut {
            let byte = Bool.random() ? Int.random(in: 0..<4000) : .random(in: 0..<24_000)
            return Bool.random() ? CuttingProxy.Fate(sent: byte) : CuttingProxy.Fate(answered: byte / 2)
        }
        return store
    }

    @Test func whateverIsDoneAddsUp() async throws {
        defer { self.proxy.end() }
        let (store, proxy, time) = (try self.store(), self.proxy, self.keep.time)
        let refused = NIOLockedValueBox<[String: Int]>([:])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<Self.callers {
                let work = try RandomWork(store, time, seed: UInt64(caller))
                group.addTask {
                    var (work, number) = (work, 0)
                    while proxy.cuts < Self.cuts {
                        let said = try await work.step(number)
                        number += 1
                        guard let refusal = said.first, refusal.hasPrefix("refused: ") else { continue }
                        refused.withLockedValue { $0[refusal, default: 0] += 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        self.proxy.cut { .whole }
        // All was found out, and nothing was read that is not so.
        let refusals = refused.withLockedValue { $0 }
        #expect(refusals["refused: unknown"] == nil && refusals["refused: corrupt"] == nil, "\(refusals)")
        let scenario = Scenario(self.keep)
        try await scenario.endAllWork()
        #expect(try await scenario.leftovers() == [])
        #expect(try await self.keep.faults() == [])
    }

    /// Whoever had no answer asks again with the same key: each key is one job, also where records of TLS and what they begin with are cut.
    @Test(arguments: [false, true]) func aKeyIsOneJobHoweverOftenItIsRepeated(isEncrypted: Bool) async throws {
        defer { self.proxy.end() }
        let (store, proxy) = (try self.store(isEncrypted: isEncrypted), self.proxy)
        let jobs = NIOLockedValueBox<[Int: Set<JobID>]>([:])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.callers {
                group.addTask {
                    var key = 0
                    while proxy.cuts < Self.cuts {
                        let job = try await Self.accept("\(key)", store)
                        jobs.withLockedValue { [key] in _ = $0[key, default: []].insert(job) }
                        key += 1
                    }
                }
            }
            try await group.waitForAll()
        }
        self.proxy.cut { .whole }
        let accepted = jobs.withLockedValue { $0 }
        #expect(accepted.values.allSatisfy { $0.count == 1 })
        #expect(try await self.keep.number("SELECT count(*) FROM job") == accepted.count)
        #expect(try await self.keep.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == accepted.count)
        #expect(try await self.keep.number("SELECT count(*) FROM message") == accepted.count)
    }

    /// Repeats a request until it is answered.
    private static func accept(_ key: String, _ store: PostgreSQLStore) async throws -> JobID {
        let idempotency = NewJob.Idempotency(caller: "account:a", route: "r", key: key, hash: [1])
        while true {
            let new = NewJob(
                app: .default,
                work: .register(.delete(.random())),
                lifetime: .seconds(60),
                idempotency: idempotency
            )
            do {
                switch try await store.accept([new]).answers.first {
                case .accepted(let job)?: return job.id
                case .repeated(let job)?: return job
                case let answer: throw Unexpected("\(String(describing: answer))")
                }
            } catch let error as StoreError where error.code == .unavailable {
                // Nothing was written then.
                continue
            }
        }
    }
}
