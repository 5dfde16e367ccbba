/// When a send may start, by the API and by the wire of a hub.
package enum SendStart {
    /// How far ahead.
    package static let daysAhead = 366

    /// A moment of the last day means at once, for a repeat comes later than the first, and clocks differ; an older one is a mistake.
    ///
    /// - Parameters:
    ///   - moment: What the sender says.
    ///   - now: The time.
    /// - Throws: ``InvalidValue``, without the member.
    package static func check(_ moment: Timestamp, now: Timestamp = .now) throws(InvalidValue) {
        let day = Duration.seconds(86_400)
        guard moment >= now.advanced(by: day * -1) else { throw InvalidValue("is more than a day past") }
        guard moment <= now.advanced(by: day * Self.daysAhead) else {
            throw InvalidValue("must be within \(Self.daysAhead) days from now")
        }
    }
}
