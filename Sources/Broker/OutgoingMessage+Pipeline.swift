package import PushModel

// The messages of the pipeline: what a producer writes, a consumer of another release reads (rule 7).
extension OutgoingMessage {
    /// The message that tells a worker to look at a job.
    package init(job: JobID, app: AppID, kind: JobKind, priority: Priority, traceparent: String?) {
        let body = "{\"version\":\(JobEnvelope.currentVersion),\"app\":\"\(app)\",\"job\":\"\(job)\"}"
        self.init(
            routingKey: QueueName.jobs(kind, priority),
            properties: MessageProperties(
                type: kind.rawValue,
                messageID: job.description,
                contentType: "application/json",
                headers: MessageProperties.headers(app: app, traceparent: traceparent)
            ),
            body: Array(body.utf8)
        )
    }

    /// The message that tells a send worker to look at a bundle.
    ///
    /// JSON: `{"version":1,"app":"default","bundle":7}`.
    package init(bundle: BundleID, app: AppID, priority: Priority) {
        let body = "{\"version\":\(JobEnvelope.currentVersion),\"app\":\"\(app)\",\"bundle\":\(bundle.number)}"
        self.init(
            routingKey: QueueName.jobs(.send, priority),
            properties: MessageProperties(
                type: MessageProperties.bundleType,
                messageID: bundle.description,
                contentType: "application/json",
                headers: MessageProperties.headers(app: app, traceparent: nil)
            ),
            body: Array(body.utf8)
        )
    }

    /// The message that hands small batches to a delivery worker, at least one.
    package init?(delivering parcel: DeliverParcel, id: ParcelID) {
        guard let first = parcel.batches.first else { return nil }
        self.init(
            routingKey: QueueName.deliver(first.key.pns, first.priority),
            properties: MessageProperties(
                type: MessageProperties.parcelType,
                messageID: id.description,
                contentType: "application/octet-stream",
                headers: MessageProperties.headers(app: first.app, traceparent: nil)
            ),
            body: parcel.encoded()
        )
        let devices = parcel.batches.reduce(0) { $0 + $1.devices.count }
        self.properties.headers[MessageProperties.devicesHeader] = String(devices)
    }

    /// The message that hands a batch to a delivery worker.
    package init(delivering batch: DeliverBatch, traceparent: String?) {
        self.init(
            routingKey: QueueName.deliver(batch.key.pns, batch.priority),
            properties: MessageProperties(
                type: MessageProperties.deliverType,
                messageID: batch.key.description,
                contentType: "application/octet-stream",
                headers: MessageProperties.headers(app: batch.app, traceparent: traceparent)
            ),
            body: batch.encoded()
        )
        self.properties.headers[MessageProperties.devicesHeader] = String(batch.devices.count)
    }

    /// The hint to the process that waits for a job: "look at it" (rule 16).
    ///
    /// It may be lost.
    package init(eventFor job: JobID, waiter: String) {
        self.init(
            exchange: QueueName.events,
            routingKey: waiter,
            properties: MessageProperties(type: "event", messageID: job.description, contentType: "text/plain"),
            body: Array(job.description.utf8),
            isPersistent: false
        )
    }

    /// A message that nobody could work on, on its way to the dead queue with the reason (rule 5).
    ///
    /// A stranger may have written it. What is not read again stays behind, and the rest fits into its field: what does not cannot
    /// be written as a frame, and would cost the publisher its connection, each time that it is tried.
    package init(burying delivery: Delivery, from queue: String, reason: String) {
        var properties = MessageProperties(
            type: delivery.properties.type.beginning(octets: 255),
            messageID: delivery.properties.messageID.beginning(octets: 255),
            contentType: delivery.properties.contentType.beginning(octets: 255)
        )
        properties.headers[MessageProperties.appHeader] = delivery.properties.headers[MessageProperties.appHeader]?
            .beginning(octets: 255)
        properties.headers[MessageProperties.queueHeader] = queue
        properties.headers[MessageProperties.reasonHeader] = reason.beginning(octets: 1000)
        self.init(routingKey: QueueName.dead, properties: properties, body: delivery.body)
    }
}

extension MessageProperties {
    package static let deliverType = "deliver"
    /// Of a message that names a bundle of small sends.
    package static let bundleType = "bundle"
    /// Of a message that holds small batches.
    package static let parcelType = "parcel"
    package static let appHeader = "app"
    package static let traceparentHeader = "traceparent"
    /// On deliver messages and parcels: how many devices they hold, so that a worker knows before it reads them.
    package static let devicesHeader = "devices"
    /// On dead messages: the queue they came from.
    package static let queueHeader = "queue"
    /// On dead messages: why they died.
    package static let reasonHeader = "reason"

    fileprivate static func headers(app: AppID, traceparent: String?) -> [String: String] {
        var headers = [Self.appHeader: app.name]
        headers[Self.traceparentHeader] = traceparent
        return headers
    }
}

extension String {
    /// As much of its beginning as so many octets of UTF-8 hold.
    fileprivate func beginning(octets limit: Int) -> String {
        guard self.utf8.count > limit else { return self }
        var end = self.utf8.index(self.startIndex, offsetBy: limit)
        while UTF8.isContinuation(self.utf8[end]) { self.utf8.formIndex(before: &end) }
        return String(self[..<end])
    }
}
