package import PushModel

/// What became of a send, as `GET /{hub}/messages/{id}` tells it.
package struct WireTelemetry: Sendable {
    /// The states that every official client knows.
    package enum State: String, Sendable {
        case enqueued = "Enqueued"
        case processing = "Processing"
        case completed = "Completed"
        case abandoned = "Abandoned"
        case noTargetFound = "NoTargetFound"
        case scheduled = "Scheduled"
        case canceled = "Canceled"
        case unknown = "Unknown"
    }

    /// How many devices had one outcome.
    package struct Outcome: Sendable, Equatable {
        package let name: String
        package let count: Int

        package init(_ name: String, _ count: Int) {
            self.name = name
            self.count = count
        }
    }

    package var id: String
    package var address: String
    package var state: State
    package var enqueued: Timestamp
    package var started: Timestamp?
    package var ended: Timestamp?
    package var body: String
    package var tags: String?
    package var platforms: [WirePlatform]
    package var counts: [(platform: WirePlatform, outcomes: [Outcome])]

    package init(id: String, address: String, state: State, enqueued: Timestamp, body: String) {
        (self.id, self.address, self.state, self.enqueued, self.body) = (id, address, state, enqueued, body)
        (self.platforms, self.counts) = ([], [])
    }

    /// The order of the counts, with Baidu and browsers behind those of clients of .NET.
    private static let order: [WirePlatform] = [
        .apple, .windowsPhone, .windows, .gcm, .adm, .fcmV1, .baidu, .browser,
    ]

    /// The XML, in the order that clients of .NET rely on.
    package var bytes: [UInt8] {
        let counts = Self.order.compactMap { platform in
            self.counts.first { $0.platform == platform && !$0.outcomes.isEmpty }.map(Self.element)
        }
        return XMLTree(
            "NotificationDetails",
            attributes: [.init("xmlns", WireNames.connect), .init("xmlns:i", WireNames.instance)],
            elements: [
                XMLTree("NotificationId", text: self.id), XMLTree("Location", text: self.address),
                XMLTree("State", text: self.state.rawValue), XMLTree("EnqueueTime", text: self.enqueued.iso8601),
                self.started.map { XMLTree("StartTime", text: $0.iso8601) },
                self.ended.map { XMLTree("EndTime", text: $0.iso8601) },
                XMLTree("NotificationBody", text: self.body), self.tags.map { XMLTree("Tags", text: $0) },
                XMLTree("TargetPlatforms", text: self.platforms.map(\.telemetryName).joined(separator: ",")),
            ] + counts
        ).bytes
    }

    private static func element(
        _ counts: (platform: WirePlatform, outcomes: [Outcome])
    ) -> XMLTree {
        XMLTree(
            counts.platform.countsElement,
            elements: counts.outcomes.map { outcome in
                XMLTree(
                    "Outcome",
                    elements: [XMLTree("Name", text: outcome.name), XMLTree("Count", text: String(outcome.count))]
                )
            }
        )
    }
}

extension FailureClass {
    /// The word of a hub for it.
    package var outcomeName: String {
        switch self {
        case .unregistered: "ExpiredChannel"
        case .rejected: "InvalidNotificationFormat"
        case .misconfigured: "InvalidCredentials"
        case .retiredService: "PnsUnavailable"
        case .deregistered: "Skipped"
        case .dead: "AbandonedNotificationMessages"
        case .unknown: "UnknownError"
        }
    }
}
