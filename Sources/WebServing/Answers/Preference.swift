import PushModel

/// The caller's preferences for slow answers (RFC 7240).
package struct Preference: Sendable, Equatable {
    /// `respond-async`: an answer at once.
    package var respondAsync = false
    /// `wait=N`: for how many seconds.
    package var wait: Int?

    /// Reads the values of `Prefer`; unknown and malformed ones are ignored, as the RFC demands.
    package init(_ values: [String]) {
        if values.isEmpty { return }
        for value in values.joined(separator: ",").split(separator: ",") {
            let parts = value.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map {
                $0.trimming().lowercased()
            }
            switch parts.first {
            case "respond-async"?: self.respondAsync = true
            case "wait"? where parts.count == 2:
                let number = parts[1].filter { $0 != "\"" }
                if self.wait == nil, !number.isEmpty, number.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
                    self.wait = Int(number) ?? Int.max
                }
            default: continue
            }
        }
    }

    /// Whether the caller understands 202.
    package var isStated: Bool { self.respondAsync || self.wait != nil }

    /// The longest wait; nil = no preference.
    package func limit(most: Duration) -> Duration? {
        if let wait = self.wait { return min(.seconds(min(wait, 86_400)), most) }
        return self.respondAsync ? .zero : nil
    }

    /// The value of `Preference-Applied`; nil = nothing was applied.
    ///
    /// - Parameters:
    ///   - answered: Whether the answer came in time.
    ///   - most: The route's longest wait.
    /// - Returns: The applied preferences.
    package func applied(answered: Bool, most: Duration) -> String? {
        var applied: [String] = []
        if self.respondAsync, !answered { applied.append("respond-async") }
        if let wait = self.wait, most > .zero || wait == 0 {
            applied.append("wait=\(min(wait, Int(most.components.seconds)))")
        }
        return applied.isEmpty ? nil : applied.joined(separator: ", ")
    }
}
