import HubWire
import NIOConcurrencyHelpers
import PushModel

/// The tokens for a hub: one is in use until shortly before its end.
final class AzureTokens: Sendable {
    /// A token so young was not refused for its age.
    private static let youth = Duration.seconds(10)
    /// A hub's clock is not believed to be further away than this.
    private static let greatestSkew = Duration.seconds(86_400)

    private struct State {
        var text = ""
        /// When it was made, and its end, by our own clock.
        var made = Timestamp(milliseconds: 0)
        var renewal = Timestamp(milliseconds: 0)
        /// How far the hub's clock is ahead of ours.
        var skew = Duration.zero
    }

    private let connection: ConnectionString
    private let audience: String
    private let lifetime: Duration
    private let now: @Sendable () -> Timestamp
    private let state = NIOLockedValueBox(State())

    /// - Parameters:
    ///   - connection: The rule and its key.
    ///   - audience: The address of the hub.
    ///   - lifetime: For how long a token is valid.
    ///   - now: The wall clock.
    init(_ connection: ConnectionString, audience: String, lifetime: Duration, now: @escaping @Sendable () -> Timestamp)
    {
        self.connection = connection
        self.audience = audience
        self.lifetime = lifetime
        self.now = now
    }

    /// The value of `Authorization`.
    func token() -> String {
        self.state.withLockedValue { state in
            let now = self.now()
            // A clock that was set back makes a token seem younger than new.
            if now >= state.renewal || now < state.made { self.renew(&state, at: now) }
            return state.text
        }
    }

    /// The token to use after one was refused.
    ///
    /// - Parameters:
    ///   - used: The refused one.
    ///   - date: The hub's time, as its answer has it.
    /// - Returns: nil if another would be refused as well.
    func token(replacing used: String, date: Timestamp?) -> String? {
        self.state.withLockedValue { state in
            guard state.text == used else { return state.text }
            let now = self.now()
            var skew = date.map(now.duration(to:)) ?? state.skew
            if skew > Self.greatestSkew || skew < .zero - Self.greatestSkew { skew = state.skew }
            let moved = skew - state.skew
            // A minute is not a reason to refuse a token that lasts longer.
            let isElsewhere = moved > .seconds(60) || moved < .seconds(-60)
            guard isElsewhere || state.made.duration(to: now) >= Self.youth else { return nil }
            if isElsewhere { state.skew = skew }
            self.renew(&state, at: now)
            return state.text == used ? nil : state.text
        }
    }

    private func renew(_ state: inout State, at now: Timestamp) {
        state.made = now
        // A fifth of its life is left then, for clocks that differ and calls that take long.
        state.renewal = now.advanced(by: self.lifetime * 4 / 5)
        state.text = SASToken.make(
            audience: self.audience,
            rule: self.connection.rule,
            key: self.connection.key,
            expires: now.advanced(by: state.skew + self.lifetime)
        )
    }
}
