import Crypto
package import PushModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A token of the scheme `SharedAccessSignature`: it says until when the holder of a rule's key may use which part of a host.
package struct SASToken: Sendable, Equatable {
    private static let scheme = "sharedaccesssignature "
    /// Longer headers are not tokens.
    private static let longest = 8192

    /// The audience as it stands in the token, encoded: it is what is signed.
    private let resource: String
    private let signature: [UInt8]
    /// The time as it stands in the token.
    private let expiry: String
    /// The name of the rule.
    package let rule: String

    /// Reads the value of `Authorization`; its fields may be in any order.
    ///
    /// - Returns: nil for anything else.
    package init?(header: String) {
        guard header.utf8.count <= Self.longest, header.prefix(Self.scheme.count).lowercased() == Self.scheme else {
            return nil
        }
        var fields: [Substring: Substring] = [:]
        for field in header.dropFirst(Self.scheme.count).split(separator: "&") {
            guard let equals = field.firstIndex(of: "=") else { return nil }
            let value = field[field.index(after: equals)...]
            guard fields.updateValue(value.trimming(), forKey: field[..<equals].trimming()) == nil else { return nil }
        }
        guard let resource = fields["sr"], let expiry = fields["se"], Self.seconds(expiry) != nil,
            let rule = fields["skn"].flatMap({ PercentCoding.decode($0, plusIsSpace: false) }), !rule.isEmpty,
            let encoded = fields["sig"].flatMap({ PercentCoding.decode($0, plusIsSpace: false) }),
            let signature = Data(base64Encoded: encoded)
        else { return nil }
        self.resource = String(resource)
        self.expiry = String(expiry)
        self.rule = rule
        self.signature = Array(signature)
    }

    /// The value of `Authorization` for an audience.
    ///
    /// - Parameters:
    ///   - audience: The address of the host, or of a part of it.
    ///   - rule: The name of the rule.
    ///   - key: Its key, as it is written.
    ///   - expires: The end of the token.
    /// - Returns: The value.
    package static func make(audience: String, rule: String, key: String, expires: Timestamp) -> String {
        let resource = PercentCoding.encode(audience.lowercased())
        let expiry = String(expires.seconds)
        let code = HMAC<SHA256>.authenticationCode(for: Self.signed(resource, expiry), using: Self.key(key))
        let signature = PercentCoding.encode(Data(code).base64EncodedString())
        return "SharedAccessSignature sr=\(resource)&sig=\(signature)&se=\(expiry)&skn=\(PercentCoding.encode(rule))"
    }

    /// Whether that key signed it; the time does not depend on where the signatures differ.
    package func isSigned(with key: String) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            self.signature,
            authenticating: Self.signed(self.resource, self.expiry),
            using: Self.key(key)
        )
    }

    /// Whether it has ended.
    package func hasExpired(at now: Timestamp) -> Bool { (Self.seconds(self.expiry[...]) ?? 0) <= now.seconds }

    /// Whether its audience is that host and a beginning of that path, segment by segment.
    ///
    /// Scheme, port and query are not part of it, because the official clients disagree about them; nor is letter case.
    ///
    /// - Parameters:
    ///   - authority: The request's host, with or without a port.
    ///   - path: The request's path, as it came.
    /// - Returns: Whether the token is for this request.
    package func covers(authority: String, path: String) -> Bool {
        guard let audience = PercentCoding.decode(self.resource[...], plusIsSpace: false),
            let scheme = audience.firstRange(of: "://")
        else { return false }
        let address = audience[scheme.upperBound...].prefix { $0 != "?" && $0 != "#" }
        let host = address.prefix { $0 != "/" }
        guard Self.withoutPort(host).lowercased() == Self.withoutPort(authority[...]).lowercased() else { return false }
        guard let wanted = Self.segments(address.dropFirst(host.count), isEncoded: false),
            let given = Self.segments(path[...], isEncoded: true)
        else { return false }
        return given.starts(with: wanted)
    }

    private static func segments(_ path: Substring, isEncoded: Bool) -> [String]? {
        var segments: [String] = []
        for segment in PercentCoding.parts(of: path, at: "/", omittingEmpty: true) {
            // Some clients encode the address before they encode the audience, others do not.
            guard let decoded = PercentCoding.decode(segment, plusIsSpace: false) ?? (isEncoded ? nil : String(segment))
            else { return nil }
            segments.append(decoded.lowercased())
        }
        return segments
    }

    private static func withoutPort(_ host: Substring) -> Substring {
        guard let colon = host.lastIndex(of: ":"), host[colon...].dropFirst().allSatisfy({ $0.isASCII && $0.isNumber })
        else { return host }
        return host[..<colon]
    }

    private static func seconds(_ text: Substring) -> Int64? {
        guard (1...15).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(text)
    }

    /// The text of the audience, as it is encoded in the token, a line feed, and the time.
    private static func signed(_ resource: String, _ expiry: String) -> [UInt8] { Array("\(resource)\n\(expiry)".utf8) }

    private static func key(_ text: String) -> SymmetricKey { SymmetricKey(data: Array(text.utf8)) }
}
