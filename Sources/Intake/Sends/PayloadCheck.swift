package import Payloads
package import PushModel

/// Checks at acceptance that each service can take what a send says.
package enum PayloadCheck {
    /// Refuses payloads that a push service would refuse: beyond its limit, or with reserved names.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - named: The services; empty = all services the app has credentials for.
    ///   - options: The delivery options.
    ///   - spec: The app.
    /// - Throws: `InvalidValue` that names the member.
    package static func check(
        _ content: Content,
        for named: [PushService],
        options: PayloadFormatter.Options = PayloadFormatter.Options(),
        spec: AppSpec
    ) throws(InvalidValue) {
        if case .message(let message) = content, message.isSurelySmall { return }
        // An app that has none yet may have any when its turn comes.
        let all = spec.services.isEmpty ? PushService.inService : spec.services
        var wanted = (named.isEmpty ? all : named).filter(\.isInService)
        var content = content
        if case .native(let native) = content {
            try Self.measure(content, for: native.services, options)
            guard let message = native.message else { return }
            content = .message(message)
            wanted.removeAll { native[$0] != nil }
        }
        // Content that no service in use takes is measured as well: the job stores and lists it.
        try Self.measure(content, for: wanted.isEmpty ? PushService.inService : wanted, options)
    }

    private static func measure(
        _ content: Content,
        for services: [PushService],
        _ options: PayloadFormatter.Options
    ) throws(InvalidValue) {
        for pns in services {
            do throws(InvalidValue) {
                _ = try PayloadFormatter.format(content, for: pns, options: options)
            } catch {
                // The whole is too large: its text is the first to shorten.
                throw error.member.isEmpty ? error.named("body") : error
            }
        }
    }
}

extension Content.Message {
    private static let smallestLimit =
        PushService.inService.flatMap(\.descriptor.kinds).map(\.maximumPayload).min() ?? 0

    /// Whether every service accepts it in any encoding: a short text without data.
    fileprivate var isSurelySmall: Bool {
        // Six bytes are the most that a byte of text becomes, in JSON and in XML.
        let size = ((self.title?.utf8.count ?? 0) + (self.body?.utf8.count ?? 0)) * 6 + 512
        return self.data.isEmpty && self.members == nil && size <= Self.smallestLimit
    }
}
