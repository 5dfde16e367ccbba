package import PushModel

/// How much of an app's work may be in flight at one priority (rule 12).
///
/// It neither fills the broker's queues with one app's work, nor lets the fan-out run far ahead of the answers.
package struct InFlightWindow: Sendable, Equatable {
    /// The most devices in delivery messages to one push service that are published or deferred.
    package var devices: Int
    /// The most such messages, however small they are.
    package var messages: Int
    /// The most messages of one of the queues of jobs, register and send, that are published: behind so many of another app's a
    /// message waits for its worker.
    package var jobMessages: Int

    package init(
        devices: Int = 32 * DeliverBatch.maximumDevices,
        messages: Int = 1024,
        jobMessages: Int = 256
    ) {
        self.devices = devices
        self.messages = messages
        self.jobMessages = jobMessages
    }
}

/// The purpose of credit: some may fill a window further than others, so that they never wait behind them.
package enum CreditKind: Sendable, CaseIterable {
    /// Further pages of a send: a campaign fills the window itself.
    case page
    /// The first pages of a send have a quarter more, and may exceed a rate limit for a moment, so that small sends pass a campaign.
    case first
    /// Retries have the whole window once more: begun work precedes new work.
    case retry
}

/// How many devices may be published now.
package struct Credit: Sendable, Equatable {
    /// The most devices; 0 = none now.
    package let devices: Int
    /// The time until there is credit again, if only a rate limit blocks.
    package let wait: Duration?
    /// How much of it each credential with a rate limit has, where the app has several at the service.
    package let limits: [CredentialName: CredentialCredit]

    package init(devices: Int, wait: Duration? = nil, limits: [CredentialName: CredentialCredit] = [:]) {
        self.devices = devices
        self.wait = wait
        self.limits = limits
    }

    /// The time until a credential has credit again that has none.
    package var shortestWait: Duration? { self.wait ?? self.limits.values.compactMap(\.wait).min() }

    /// How many of an audience's devices, from the first on, there is credit for.
    package func prefix(of audience: AudiencePage) -> Int {
        guard !self.limits.isEmpty else { return audience.rows.count }
        var left = self.limits.mapValues(\.devices)
        for index in audience.rows.indices {
            let credential = audience.credentials[index]
            guard let free = left[credential] else { continue }
            guard free > 0 else { return index }
            left[credential] = free - 1
        }
        return audience.rows.count
    }
}

/// How many devices of a credential may be published now.
package struct CredentialCredit: Sendable, Equatable {
    package let devices: Int
    /// The time until there are any, if there are none.
    package let wait: Duration?

    package init(devices: Int, wait: Duration? = nil) {
        self.devices = devices
        self.wait = wait
    }
}
