package import PushModel

/// What became of a send, as `GET /{hub}/messages/{id}` tells it.
package struct WireTelemetry: Sendable {
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
    package var state: HubSendState
    package var enqueued: Timestamp?
    package var started: Timestamp?
    package var ended: Timestamp?
    package var body: String
    package var tags: String?
    package var platforms: [WirePlatform]
    /// Whether it went to the templates of the platforms.
    package var isForTemplates = false
    /// Where the errors of single devices can be fetched; nil = there were none, or the hub keeps none.
    package var errorDetails: String?
    package var counts: [(platform: WirePlatform, outcomes: [Outcome])]

    package init(id: String, address: String, state: HubSendState, enqueued: Timestamp?, body: String) {
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
                XMLTree("State", text: self.state.rawValue),
                self.enqueued.map { XMLTree("EnqueueTime", text: $0.iso8601) },
                self.started.map { XMLTree("StartTime", text: $0.iso8601) },
                self.ended.map { XMLTree("EndTime", text: $0.iso8601) },
                XMLTree("NotificationBody", text: self.body), self.tags.map { XMLTree("Tags", text: $0) },
                XMLTree("TargetPlatforms", text: self.platformNames),
            ] + counts
        ).bytes
    }

    private var platformNames: String {
        let names = self.platforms.map(\.formatName)
        return self.isForTemplates
            ? names.map { $0 + WireNames.templateFormat }.joined(separator: ",") : names.joined(separator: ",")
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

extension WireTelemetry {
    /// Reads what a hub says of a notification, with its elements in any order.
    ///
    /// - Parameter bytes: The XML, whose size the caller bounds.
    /// - Throws: `InvalidValue` for what is not telemetry.
    package init(reading bytes: [UInt8]) throws(InvalidValue) {
        let root = try WireDocument.root("NotificationDetails", of: bytes)
        func text(_ name: String) -> String? { root.first(name)?.text }
        func time(_ name: String) -> Timestamp? { text(name).flatMap(WireTime.loose) }
        guard let state = text("State") else { throw InvalidValue(member: "State", "is missing") }
        self.init(
            id: text("NotificationId") ?? "",
            address: text("Location") ?? "",
            state: HubSendState(wire: state),
            enqueued: time("EnqueueTime"),
            body: text("NotificationBody") ?? ""
        )
        self.started = time("StartTime")
        self.ended = time("EndTime")
        self.tags = text("Tags")
        self.errorDetails = text("PnsErrorDetailsUri")
        for name in (text("TargetPlatforms") ?? "").split(separator: ",") {
            // Some documents have a blank in `windows template`.
            var format = name.lowercased().filter { !$0.isWhitespace }
            if format.hasSuffix(WireNames.templateFormat) {
                self.isForTemplates = true
                format.removeLast(WireNames.templateFormat.count)
            }
            guard let platform = WirePlatform(format: format) else { continue }
            if !self.platforms.contains(platform) { self.platforms.append(platform) }
        }
        for platform in Self.order {
            // What clients call `Fcm` is `Gcm` on the wire, in all but one document.
            let names = [platform.countsElement] + (platform == .gcm ? ["FcmOutcomeCounts"] : [])
            let outcomes = root.elements.filter { names.contains(String($0.localName)) }.flatMap(Self.outcomes)
            if !outcomes.isEmpty { self.counts.append((platform, outcomes)) }
        }
    }

    private static func outcomes(_ counts: XMLTree) -> [Outcome] {
        counts.elements.compactMap { element in
            // What no hub can have would overflow a sum.
            guard let name = element.first("Name")?.text, let count = element.first("Count").flatMap({ Int($0.text) }),
                (0...1 << 40).contains(count)
            else { return nil }
            return Outcome(name, count)
        }
    }
}
