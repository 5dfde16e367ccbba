package import PushModel

// The messages of the pipeline. Consumers of other releases read them too (rule 7).
extension OutgoingMessage {
    /// The hint that makes a register or send worker read a row of the outbox.
    ///
    /// Its JSON is for people: `{"version":2,"app":"default","message":7}`. Workers read only the properties.
    ///
    /// - Parameters:
    ///   - message: The row.
    ///   - span: The span that it comes from, if there is one.
    package init(hint message: OutboxMessage, from span: SpanContext? = nil) {
        let body = "{\"version\":2,\"app\":\"\(message.app)\",\"message\":\(message.id)}"
        self.init(message, contentType: "application/json", body: Array(body.utf8))
        if let span { self.properties.span = span }
    }

    /// The message that hands batches to a delivery worker.
    ///
    /// - Parameters:
    ///   - delivery: The batches.
    ///   - message: The row.
    ///   - span: The span that it comes from, if there is one.
    package init(_ delivery: DeliveryMessage, as message: OutboxMessage, from span: SpanContext? = nil) {
        self.init(message, contentType: "application/octet-stream", body: delivery.encoded())
        if let span { self.properties.span = span }
        let devices = delivery.batches.reduce(0) { $0 + $1.devices.count }
        self.properties.headers[MessageProperties.devicesHeader] = String(devices)
    }

    private init(_ message: OutboxMessage, contentType: String, body: [UInt8]) {
        self.init(
            routingKey: QueueName.work(message.queue, message.priority),
            properties: MessageProperties(
                type: message.queue.kind,
                messageID: message.id.description,
                contentType: contentType,
                headers: [MessageProperties.appHeader: message.app.name]
            ),
            body: body
        )
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

    /// How a process is, for those that show it.
    ///
    /// It may be lost.
    package init(_ report: ProcessReport) throws {
        self.init(
            exchange: QueueName.events,
            routingKey: QueueName.reports,
            properties: MessageProperties(type: "process", messageID: report.id, contentType: "application/json"),
            body: try report.encoded(),
            isPersistent: false
        )
    }

    /// A message for the dead queue, with the reason of its failure (rule 5).
    ///
    /// The original may be forged. Unused properties are dropped, and the others are truncated to their field's size: a
    /// longer one does not fit a frame and would cost the publisher its connection at every attempt.
    package init(deadLetter delivery: Delivery, from queue: String, reason: String) {
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
    package static let appHeader = "app"
    /// On delivery messages: how many devices they hold, so that a worker knows before it reads them.
    package static let devicesHeader = "devices"
    /// On dead letters: the queue they came from.
    package static let queueHeader = "queue"
    /// On dead letters: why they died.
    package static let reasonHeader = "reason"
    /// The span that the message comes from, as W3C writes it; no worker needs it.
    private static let parentHeader = "traceparent"

    /// The span that the message comes from; nil where it says none, or what is none.
    package var span: SpanContext? {
        get { self.headers[Self.parentHeader].flatMap { SpanContext(traceparent: $0) } }
        set { self.headers[Self.parentHeader] = newValue?.traceparent }
    }
}

extension String {
    /// The beginning of the text within this many octets of UTF-8.
    func beginning(octets limit: Int) -> String {
        guard self.utf8.count > limit else { return self }
        var end = self.utf8.index(self.startIndex, offsetBy: limit)
        while UTF8.isContinuation(self.utf8[end]) { self.utf8.formIndex(before: &end) }
        return String(self[..<end])
    }
}
