import PushModel

/// A token taken apart (RFC 7515, section 7.1); nothing of it is verified.
struct SignedToken {
    /// More than `Authorization` may have.
    static let maximumLength = 8192
    /// The signature of the longest key, 1,024 bytes, in base64url.
    static let longestSignature = 1366

    /// As the token says it, to be compared with what the app takes.
    let algorithm: String
    let keyID: String?
    /// Header and payload as they were signed.
    let signed: [UInt8]
    private let payload: Substring
    private let signaturePart: Substring

    /// - Throws: ``TokenRefusal/invalid(_:)`` for what is not a token, or one that asks for more than is understood.
    init(_ text: String) throws(TokenRefusal) {
        guard text.utf8.count <= Self.maximumLength else { throw .invalid("the token is too long") }
        let parts = text.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .invalid("the token is not of the form header.payload.signature") }
        guard parts[2].utf8.count <= Self.longestSignature else { throw .invalid("the token's signature is too long") }
        let header = try UniqueMembers(part: parts[0], named: "header")
        // Keys and addresses in the header (jwk, jku, x5c, x5u) are not looked at: whoever made the token chose them.
        guard header["crit"] == nil else { throw .invalid("the token's header has crit, which is not understood") }
        switch header["typ"] {
        case nil: break
        case .string(let type)? where Self.types.contains(type.withoutCapitals): break
        default: throw .invalid("the token's typ is neither JWT nor at+jwt")
        }
        guard case .string(let algorithm)? = header["alg"] else { throw .invalid("the token's header has no alg") }
        switch header["kid"] {
        case nil: self.keyID = nil
        case .string(let id)?: self.keyID = id
        default: throw .invalid("the token's kid is not a text")
        }
        self.algorithm = algorithm
        self.payload = parts[1]
        self.signed = Array("\(parts[0]).\(parts[1])".utf8)
        self.signaturePart = parts[2]
    }

    /// Types of tokens that let somebody in; an issuer also signs others, such as `logout+jwt`.
    private static let types = ["jwt", "at+jwt", "application/at+jwt"]

    /// The signature: to be read once there is a key that may have made it.
    func signature() throws(TokenRefusal) -> [UInt8] {
        guard let bytes = Base64URL.decode(self.signaturePart) else {
            throw .invalid("the token's signature is not in base64url")
        }
        return bytes
    }

    /// The payload's claims: to be read once the signature is found good.
    func claims() throws(TokenRefusal) -> UniqueMembers { try UniqueMembers(part: self.payload, named: "payload") }
}

/// The members of a JSON object, none twice: two readers of a token must not see different ones.
struct UniqueMembers {
    private let members: [JSONValue.Member]

    /// - Parameters:
    ///   - part: The object in base64url.
    ///   - name: What it is, for the refusal.
    /// - Throws: ``TokenRefusal/invalid(_:)``.
    init(part: Substring, named name: String) throws(TokenRefusal) {
        guard let bytes = Base64URL.decode(part), case .object(let members)? = try? JSONReader.read(bytes) else {
            throw .invalid("the token's \(name) is not a JSON object")
        }
        guard Set(members.map(\.name)).count == members.count else {
            throw .invalid("the token's \(name) has a member twice")
        }
        self.members = members
    }

    subscript(name: String) -> JSONValue? { self.members.first { $0.name == name }?.value }
}
