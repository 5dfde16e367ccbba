import Foundation
import NIOConcurrencyHelpers
import OrderedCollections
import PushModel

/// The OAuth tokens given out, and which of them are still good.
struct AccessTokens: Sendable {
    let lifetime: Int
    private let issued = NIOLockedValueBox<OrderedDictionary<String, Double>>([:])

    /// The most tokens to keep; the oldest are dropped first.
    private static let maximum = 10_000

    init(lifetime: Int) {
        self.lifetime = lifetime
    }

    func issue(for pns: PushService) -> String {
        let random = (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
        let token = "\(pns.rawValue).\(random)"
        let end = Date.now.timeIntervalSince1970 + Double(self.lifetime)
        self.issued.withLockedValue {
            if $0.count >= Self.maximum { $0.removeFirst() }
            $0[token] = end
        }
        return token
    }

    func isGood(_ token: String, for pns: PushService) -> Bool {
        guard token.hasPrefix(pns.rawValue + ".") else { return false }
        let end = self.issued.withLockedValue { $0[token] }
        return end.map { $0 > Date.now.timeIntervalSince1970 } ?? false
    }

    /// The token of an `Authorization: Bearer …`.
    static func bearer(_ authorization: String?) -> String? {
        guard let authorization, authorization.prefix(7).lowercased() == "bearer " else { return nil }
        return String(authorization.dropFirst(7))
    }
}

extension AccessTokens {
    func revokeAll() {
        self.issued.withLockedValue { $0 = [:] }
    }
}
