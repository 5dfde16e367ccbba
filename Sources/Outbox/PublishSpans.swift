import Broker
import PushlineTracing
import Tracing

/// The spans of messages on their way to the broker: one a message, under that which the message comes from.
struct PublishSpans {
    /// With the places of their messages.
    private var spans: [(place: Int, span: RecordedSpan)] = []

    /// Begins them.
    ///
    /// - Parameters:
    ///   - messages: The messages; each that has a span says from then on that it comes from this.
    ///   - traces: Begins spans.
    init(of messages: inout [OutgoingMessage], _ traces: Traces) {
        guard traces.isOn else { return }
        for place in messages.indices {
            let queue = messages[place].routingKey
            guard let span = traces.begin("send \(queue)", .producer, under: messages[place].properties.span) else {
                continue
            }
            span.note { $0.noteMessage(messages[place].properties.messageID, of: queue, as: "send") }
            messages[place].properties.span = span.place
            self.spans.append((place, span))
        }
    }

    /// Ends them.
    ///
    /// - Parameter results: What became of each message.
    func end(_ results: [PublishResult]) {
        for (place, span) in self.spans {
            if case .failed(let error) = results[place] { span.fail(error.code.description) }
            span.end()
        }
    }
}
