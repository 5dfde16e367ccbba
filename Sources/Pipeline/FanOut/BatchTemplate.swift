import Payloads
import PushModel
import Store

/// The common parts of a send's batches.
///
/// Batches are made only here, for every kind of message.
struct BatchTemplate {
    private let job: JobTrace
    private let app: AppID
    private let priority: Priority
    private let request: SendRequest
    /// From when on a time to live counts.
    private let begins: Timestamp
    private let expires: Timestamp
    private let spec: AppSpec
    /// Of a send for templates.
    private let notifications: TemplateNotifications?

    /// For a send alone in its message, or a republished one.
    ///
    /// - Parameters:
    ///   - job: Its job.
    ///   - request: The send.
    ///   - spec: The app's declaration.
    ///   - memory: The job's, where what its templates make is kept for its next pages.
    init(_ job: Job, request: SendRequest, spec: AppSpec, memory: AudienceMemory) {
        (self.job, self.app, self.priority, self.request) = (job.trace, job.app, job.priority, request)
        (self.begins, self.expires, self.spec) = (job.begins, job.expires, spec)
        guard case .template(let properties) = request.content else {
            self.notifications = nil
            return
        }
        let known = memory.recall(TemplateNotifications.self)
        let notifications = known?.app == spec ? known : nil
        self.notifications = notifications ?? TemplateNotifications(properties, of: spec)
        if notifications == nil, let made = self.notifications { memory.keep(made) }
    }

    /// For a send of a group.
    init(_ send: SmallSend, of message: OutboxMessage, spec: AppSpec) {
        self.job = JobTrace(send.id, request: send.requestID)
        (self.app, self.priority, self.request) = (message.app, message.priority, send.request)
        (self.begins, self.expires, self.spec) = (send.begins, send.expires, spec)
        // A send for templates goes on alone.
        self.notifications = nil
    }

    /// Makes a batch.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - devices: Its devices.
    ///   - template: What all of them have, where the send is for templates; nil = it is gone, or the send is for none.
    /// - Returns: The batch, or its outcome.
    func prepare(
        _ key: BatchKey,
        devices: DeliverBatch.Devices,
        template: DeviceTemplate.Content? = nil
    ) -> PreparedDelivery {
        switch self.payload(for: key.pns, template) {
        case .failure(let fault): return .undeliverable(fault.outcome(of: key, rows: devices.rows), of: self.job)
        // The batch has no devices to count.
        case .success where devices.count == 0: return .undeliverable(BatchOutcome(key: key, at: .now), of: self.job)
        case .success(let payload):
            let batch = DeliverBatch(
                app: self.app,
                key: key,
                priority: self.priority,
                expires: self.expires,
                keepUntil: self.request.keepUntil(payload, begins: self.begins),
                collapse: self.request.collapse(for: key.pns),
                payload: payload,
                devices: devices,
                isDryRun: self.request.isDryRun
            )
            return .deliverable(batch)
        }
    }

    /// The payload for one service, or why the app's devices there cannot be reached at all.
    private func payload(
        for pns: PushService,
        _ template: DeviceTemplate.Content?
    ) -> Result<NativePayload, Undeliverable> {
        guard pns.isInService else {
            return .failure(Undeliverable(failure: .retiredService, reason: pns.retiredReason))
        }
        guard self.spec.hasService(pns) else {
            return .failure(Undeliverable(failure: .misconfigured, reason: pns.noCredentialsReason()))
        }
        do {
            if case .template = self.request.content {
                guard let template, let notifications = self.notifications else {
                    // Each of the devices has another one now, or is gone.
                    return .failure(Undeliverable(failure: .deregistered, reason: "the template was removed"))
                }
                return .success(try notifications.payload(template, for: pns))
            }
            let options = PayloadFormatter.Options(self.request, for: pns, priority: self.priority, begins: self.begins)
            return .success(try PayloadFormatter.format(self.request.content, for: pns, options: options))
        } catch {
            return .failure(Undeliverable(failure: .rejected, reason: error.description))
        }
    }
}

/// A batch as it is when it is made.
enum PreparedDelivery {
    /// To be published.
    case deliverable(DeliverBatch)
    /// The batch has no devices or cannot be delivered: this is its outcome.
    case undeliverable(BatchOutcome, of: JobTrace)

    var key: BatchKey {
        switch self {
        case .deliverable(let batch): batch.key
        case .undeliverable(let outcome, of: _): outcome.key
        }
    }
}

/// Why a whole batch cannot be delivered, and how its devices count.
private struct Undeliverable: Error {
    let failure: FailureClass
    let reason: String

    func outcome(of key: BatchKey, rows: [Int64]) -> BatchOutcome {
        let failures = rows.map { DeviceFailure(row: $0, failure: self.failure, status: 0, reason: self.reason) }
        return BatchOutcome(key: key, failures: failures, at: .now)
    }
}
