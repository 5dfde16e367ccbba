package import Broker
import Hub
package import Logging
import Outbox
package import PushModel
import PushlineLogging
package import PushlineTracing
package import Store

/// Brings sends of the embedded hub to their devices: reads audiences from the store, and publishes batches for the delivery workers.
package struct EmbeddedFanOut: SendFanOut {
    /// The parts of the store that it uses.
    package typealias FanOutStores = FanOutStore & OutboxStore & OutcomeSink & RegistrationStore

    /// How long it waits.
    package struct Configuration: Sendable {
        /// How long publishing may take.
        package var publishDeadline: Duration = .seconds(10)
        /// How soon a fan-out looks again when its window is full.
        package var windowPause: Duration = .milliseconds(20)
        /// How soon it looks again when the broker takes nothing.
        package var brokerPause: Duration = .seconds(1)

        package init() {}
    }

    let store: any FanOutStores
    let broker: any MessageBroker
    let configuration: Configuration
    let publisher: OutboxPublisher
    private let traces: Traces
    private let logger: Logger

    /// - Parameters:
    ///   - store: Where registrations and batches are.
    ///   - broker: Carries the batches to the delivery workers.
    ///   - configuration: How long it waits.
    ///   - traces: Begins the spans of messages.
    ///   - logger: For degraded states.
    package init(
        store: any FanOutStores,
        broker: any MessageBroker,
        configuration: Configuration = Configuration(),
        traces: Traces = .off,
        logger: Logger
    ) {
        self.store = store
        self.broker = broker
        self.configuration = configuration
        self.traces = traces
        self.logger = logger
        self.publisher = OutboxPublisher(store: store, broker: broker, traces: traces, logger: logger)
    }

    package func run() async { await self.publisher.run() }

    package func resume(_ messages: [OutboxMessage], specs: [AppID: AppSpec]) async throws {
        var deliveries: [(row: OutboxMessage, batches: [PreparedDelivery])] = []
        var memories: [JobID: AudienceMemory] = [:]
        var spans: [MessageID: SpanContext] = [:]
        for message in messages {
            let spec = specs[message.app] ?? AppSpec()
            try await LogContext.$current.withValue(LogContext(jobs: [])) {
                do {
                    let (batches, span) = try await self.prepare(message, spec: spec, memories: &memories)
                    deliveries.append((message, batches))
                    if let span { spans[message.id] = span }
                } catch let error as StoreError {
                    // It comes again when its grace ends; the others go on.
                    self.logger.warning(
                        "A delivery message cannot be read",
                        metadata: ["message.id": "\(message.id)", "error": "\(error)"]
                    )
                }
            }
        }
        _ = await self.publish(deliveries, from: spans)
    }

    /// The open batches of a delivery message that is published again, and the span of a request that one of them comes from.
    private func prepare(
        _ message: OutboxMessage,
        spec: AppSpec,
        memories: inout [JobID: AudienceMemory]
    ) async throws -> (batches: [PreparedDelivery], span: SpanContext?) {
        var prepared: [PreparedDelivery] = []
        let batches = try await self.store.batches(of: message.id)
        LogContext.set(jobs: batches.map(\.job.trace))
        for batch in batches {
            let memory = memories[batch.key.job] ?? AudienceMemory()
            memories[batch.key.job] = memory
            let devices = try await self.devices(of: batch, memory: memory)
            let template = BatchTemplate(batch.job, request: batch.request, spec: spec, memory: memory)
            prepared.append(template.prepare(batch.key, devices: devices, template: batch.content))
            // A template may take a millisecond, and others wait for the thread.
            if batch.content != nil { await Task.yield() }
        }
        return (prepared, batches.lazy.compactMap { $0.job.request?.span }.first)
    }

    /// Publishes delivery messages, and records the outcomes of undeliverable batches.
    ///
    /// - Parameters:
    ///   - deliveries: The messages with their batches. A message without a deliverable batch is not published, nor one
    ///     whose other batches cannot be settled.
    ///   - hints: Messages of sends to publish with them.
    ///   - spans: The spans that messages come from; one that has none there comes from the task's.
    /// - Returns: Whether the broker confirmed all published messages.
    func publish(
        _ deliveries: [(row: OutboxMessage, batches: [PreparedDelivery])],
        hints: [OutboxMessage] = [],
        from spans: [MessageID: SpanContext] = [:]
    ) async -> Bool {
        let current = self.traces.current
        var messages = hints.map { (row: $0, message: OutgoingMessage(hint: $0, from: current)) }
        for (row, batches) in deliveries {
            var delivery = DeliveryMessage(batches: [])
            var outcomes: [BatchOutcome] = []
            var jobs: [JobTrace] = []
            for batch in batches {
                switch batch {
                case .deliverable(let batch): delivery.batches.append(batch)
                case .undeliverable(let outcome, of: let job):
                    outcomes.append(outcome)
                    jobs.append(job)
                }
            }
            // Outcomes first: nobody looks at a published message again before its lease ends.
            let isRecorded = await LogContext.$current.withValue(LogContext(jobs: jobs)) {
                await self.record(outcomes, of: row.id)
            }
            guard isRecorded else { continue }
            if !delivery.batches.isEmpty {
                messages.append((row, OutgoingMessage(delivery, as: row, from: spans[row.id] ?? current)))
            }
        }
        return await self.publisher.publish(messages, deadline: self.configuration.publishDeadline)
    }

    /// Records outcomes of batches that cannot be delivered.
    ///
    /// - Returns: false when the store did not take them.
    private func record(_ outcomes: [BatchOutcome], of message: MessageID) async -> Bool {
        guard !outcomes.isEmpty else { return true }
        do {
            // An unrecorded outcome was preceded by a worker's, which counts.
            _ = try await self.store.record(outcomes)
            return true
        } catch {
            // Its grace ends, and the sweeper takes it.
            self.logger.warning(
                "The outcomes of a delivery message cannot be recorded",
                metadata: ["message.id": "\(message)", "error": "\(error)"]
            )
            return false
        }
    }

    /// The devices of a batch that is published again: the devices of its range, or those to be retried.
    private func devices(of batch: DueBatch, memory: AudienceMemory) async throws -> DeliverBatch.Devices {
        var devices = DeliverBatch.Devices()
        var query = AudienceQuery(
            batch.request,
            job: batch.job.sequence,
            app: batch.job.app,
            pns: batch.key.pns,
            memory: memory
        )
        if batch.key.attempt == 0 {
            query.template = batch.template
            (query.after, query.through) = (batch.from, batch.to)
            let page = try await self.store.wholeAudience(query)
            (devices.rows, devices.handles) = (page.rows, page.handles)
            devices.credentials = page.credentials
            return devices
        }
        query.rows = batch.retries.map(\.row)
        let addresses = try await self.store.audience(query).addresses
        for device in batch.retries {
            let address = addresses[device.row]
            devices.credentials.append(address?.credential ?? .default, at: devices.count)
            devices.rows.append(device.row)
            // No handle: the device was deregistered, or belongs to another audience now. The worker counts it.
            devices.handles.append((address?.handle.text ?? "").utf8)
            devices.tries.append(UInt8(clamping: device.tries))
            devices.waits.append(UInt32(clamping: max(.zero, device.wait).milliseconds))
        }
        return devices
    }
}
