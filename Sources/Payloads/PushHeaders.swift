package import PushModel

/// What the headers of a notification are made from, for a push and for its preview alike.
///
/// Each service's folder has the function that makes them. What the sender's own form says goes before the send's options.
package struct PushHeaders: Sendable {
    let payload: NativePayload
    let priority: Priority
    let keepUntil: Timestamp?
    let collapse: String?
    let now: Timestamp

    /// - Parameters:
    ///   - payload: The payload.
    ///   - priority: The send's priority.
    ///   - keepUntil: As in `DeliverBatch.keepUntil`.
    ///   - collapse: The send's collapse key.
    ///   - now: When it goes out.
    package init(
        _ payload: NativePayload,
        priority: Priority,
        keepUntil: Timestamp?,
        collapse: String?,
        now: Timestamp = .now
    ) {
        self.payload = payload
        self.priority = priority
        self.keepUntil = keepUntil
        self.collapse = collapse
        self.now = now
    }

    /// Those that have a value.
    static func headers(_ values: [(name: String, value: String?)]) -> [NativePayload.Header] {
        values.compactMap { name, value in value.map { NativePayload.Header(name, $0) } }
    }
}
