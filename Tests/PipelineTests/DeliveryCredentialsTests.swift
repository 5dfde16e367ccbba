import Broker
import Logging
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

extension PipelineLoadTests {
    /// Batches whose devices are reached with several of the app's credentials.
    @Suite(.serialized, .timeLimit(.minutes(5)), .undisturbed) struct DeliveryCredentialsTests {
        private static let phone = "com.example.phone"
        private static let watch = "com.example.watch"

        /// A worker, and a simulator for each of the app's two topics.
        private struct Site: Sendable {
            let worker: DeliveryWorker
            let phone: Simulator
            let watch: Simulator
            let spec: AppSpec
            let credential: CredentialName

            func send(_ batches: [DeliverBatch], _ spec: AppSpec? = nil) async -> [BatchOutcome] {
                await self.worker.send(batches, spec: spec ?? self.spec, logger: self.worker.logger)
            }
        }

        private static func with(
            _ configure: (inout DeliveryWorker.Configuration) -> Void = { _ in },
            _ body: @Sendable @escaping (Site) async throws -> Void
        ) async throws {
            var configuration = DeliveryWorker.Configuration()
            configure(&configuration)
            let settings = configuration
            try await withSimulator(SimulatorConfiguration(bundleIDs: [Self.phone])) { phone in
                try await withSimulator(SimulatorConfiguration(bundleIDs: [Self.watch])) { watch in
                    let credential = try CredentialName("watch")
                    var spec = try phone.appSpec
                    for pns in [PushService.apns, .fcm] {
                        spec.credentials[pns, credential] = try watch.appSpec.credentials[pns]
                    }
                    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                    let senders = SenderRegistry(logger: logger)
                    let store = ScriptedOutbox()
                    let worker = DeliveryWorker(
                        senders: senders,
                        hubs: .none(apps: AppDirectory(store: store)),
                        store: store,
                        apps: AppDirectory(store: store),
                        broker: InMemoryBroker(),
                        configuration: settings,
                        logger: logger
                    )
                    try await body(
                        Site(worker: worker, phone: phone, watch: watch, spec: spec, credential: credential)
                    )
                    await senders.close()
                }
            }
        }

        /// A batch of devices, of which those at odd places are watches.
        private static func batch(
            _ devices: Int,
            pns: PushService = .apns,
            watch: CredentialName,
            attempt: Int = 0,
            isWatch: (Int) -> Bool = { $0 % 2 == 1 }
        ) -> DeliverBatch {
            var list = DeliverBatch.Devices()
            for number in 0..<devices {
                list.credentials.append(isWatch(number) ? watch : .default, at: number)
                list.rows.append(Int64(number + 1))
                let digits = String(number + 1, radix: 16)
                list.handles.append((String(repeating: "0", count: 64 - digits.count) + digits).utf8)
            }
            let body = pns == .fcm ? #"{"notification":{"title":"a"}}"# : #"{"aps":{"alert":"a"}}"#
            return DeliverBatch(
                app: .default,
                key: BatchKey(job: .make(), pns: pns, page: 0, attempt: attempt),
                priority: .normal,
                expires: .now.advanced(by: .seconds(3600)),
                keepUntil: nil,
                collapse: nil,
                payload: NativePayload(kind: pns == .fcm ? .message : .alert, body: Array(body.utf8)),
                devices: list
            )
        }

        private static func tokens(_ simulator: Simulator) -> Set<Int> {
            Set(simulator.received().filter { $0.status == 200 }.compactMap { Int($0.token, radix: 16) })
        }

        @Test(arguments: [PushService.apns, .fcm]) func eachDeviceIsReachedWithItsOwn(pns: PushService) async throws {
            try await Self.with { site in
                let batches = [5, 4].map { Self.batch($0, pns: pns, watch: site.credential) }
                let outcomes = await site.send(batches)
                #expect(outcomes.map(\.key) == batches.map(\.key))
                #expect(outcomes.map(\.accepted) == [5, 4])
                #expect(outcomes.map(\.total) == [5, 4])
                #expect(Self.tokens(site.phone) == [1, 3, 5])
                #expect(Self.tokens(site.watch) == [2, 4])
                #expect(site.phone.received().count == 5 && site.watch.received().count == 4)
            }
        }

        /// What all devices have in common needs no other.
        @Test func aBatchOfOneNamedCredentialGoesWithThat() async throws {
            try await Self.with { site in
                let outcomes = await site.send([Self.batch(3, watch: site.credential) { _ in true }])
                #expect(outcomes.map(\.accepted) == [3])
                #expect(Self.tokens(site.watch) == [1, 2, 3] && site.phone.received().isEmpty)
            }
        }

        @Test func theBreakerOfOneDoesNotStopTheOther() async throws {
            try await Self.with({ $0.breaker.failures = 10 }) { site in
                site.watch.inject(SimulatorFault(.answer(status: 503), pns: .apns))
                var outcome = try #require(await site.send([Self.batch(40, watch: site.credential)]).first)
                #expect(outcome.accepted == 20 && outcome.retries.count == 20 && outcome.total == 40)
                let refused = site.watch.received().count
                // It is open now: its devices are carried, those of the other are sent.
                outcome = try #require(await site.send([Self.batch(40, watch: site.credential)]).first)
                #expect(outcome.accepted == 20 && outcome.retries.count == 20 && outcome.total == 40)
                #expect(outcome.retries.allSatisfy { $0.row.isMultiple(of: 2) && $0.wait > .zero && $0.tries == 0 })
                #expect(outcome.retryReason?.cause == .service)
                #expect(outcome.retryReason?.text.contains("watch") == true)
                #expect(site.watch.received().count == refused)
                #expect(Self.tokens(site.phone).count == 20)
                // A message waits for what no credential can send, and nothing less.
                guard site.worker.breakers.peek(.default, .apns) == .free else { throw Unexpected("blocked") }
                site.phone.inject(SimulatorFault(.answer(status: 503), pns: .apns))
                _ = await site.send([Self.batch(40, watch: site.credential)])
                guard case .rejected = site.worker.breakers.peek(.default, .apns) else { throw Unexpected("free") }
            }
        }

        /// During a probe the breaker says "in a second": a batch that came back so soon would fill the window that the credentials
        /// share, and the phones would wait for the watches.
        @Test func devicesOfAStoppedOneComeBackMoreSeldomWithEachAttempt() async throws {
            try await Self.with({ $0.breaker.failures = 10 }) { site in
                site.watch.inject(SimulatorFault(.answer(status: 503), pns: .apns))
                _ = await site.send([Self.batch(40, watch: site.credential)])
                for attempt in [0, 3, 5, 20] {
                    let batch = Self.batch(4, watch: site.credential, attempt: attempt)
                    let outcome = try #require(await site.send([batch]).first)
                    #expect(outcome.accepted == 2 && outcome.retries.count == 2)
                    let least = RetryPolicy().stopWait(attempt: attempt, jitter: 0)
                    #expect(outcome.retries.allSatisfy { $0.wait >= least })
                }
            }
        }

        @Test func deadTokensOfOneAreNotDoubtedForTheOther() async throws {
            try await Self.with({ $0.breaker.deadTokens = 10 }) { site in
                // As with a wrong endpoint: it calls all tokens bad.
                site.watch.inject(SimulatorFault(.answer(reason: "BadDeviceToken"), pns: .apns))
                let last = String(repeating: "0", count: 62) + "01"
                site.phone.inject(SimulatorFault(.answer(reason: "Unregistered"), pns: .apns, token: last))
                let outcome = try #require(await site.send([Self.batch(40, watch: site.credential)]).first)
                #expect(outcome.deadHandles.map(\.row) == [1])
                #expect(outcome.retries.count == 20 && outcome.accepted == 19 && outcome.total == 40)
            }
        }

        @Test func devicesOfARemovedCredentialFail() async throws {
            try await Self.with { site in
                var spec = site.spec
                spec.credentials[.apns, site.credential] = nil
                let outcome = try #require(await site.send([Self.batch(6, watch: site.credential)], spec).first)
                #expect(outcome.accepted == 3 && outcome.total == 6)
                #expect(outcome.failures.map(\.row) == [2, 4, 6])
                #expect(outcome.failures.allSatisfy { $0.failure == .misconfigured && $0.reason.contains("watch") })
                // Their registrations stay: the operator may declare it again.
                #expect(outcome.deadHandles.isEmpty && outcome.retries.isEmpty)
                #expect(site.watch.received().isEmpty)
            }
        }

        /// A credential whose files are missing waits for them, alone.
        @Test func aCredentialThatCannotBeUsedHoldsUpItsOwnDevices() async throws {
            try await Self.with { site in
                var spec = site.spec
                spec.credentials[.apns, site.credential] = AppSpec.APNs {
                    $0.authentication = .token(.init(keyFile: "/nowhere.p8", keyID: "K", teamID: "T"))
                    $0.topic = Self.watch
                }
                let outcome = try #require(await site.send([Self.batch(6, watch: site.credential)], spec).first)
                #expect(outcome.accepted == 3 && outcome.retries.count == 3 && outcome.total == 6)
                #expect(outcome.retryReason == WaitReason(unusableCredentialsAt: .apns, with: site.credential))
            }
        }
    }
}

private struct Unexpected: Error {
    let what: String

    init(_ what: String) { self.what = what }
}
