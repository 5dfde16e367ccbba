/// The header `tracestate`: what tracing systems have to say to one another, which is given on and never read.
///
/// Source: W3C Trace Context, Level 2, 3.3.
enum TraceState {
    /// The most members that the header may have.
    private static let members = 32
    /// The most octets that are given on.
    private static let length = 512
    /// Where not all is given on, members longer than this go first.
    private static let shortMember = 128

    /// What of the header is given on; nil = nothing: it is empty, or not as it must be.
    static func kept(_ text: String) -> String? {
        var members: [Substring] = []
        var keys: Set<Substring> = []
        // One more than there may be, so that they are not taken for all.
        for part in text.split(separator: ",", maxSplits: 2 * self.members, omittingEmptySubsequences: false) {
            let member = part.trimming()
            if member.isEmpty { continue }
            guard let key = self.key(of: member), keys.insert(key).inserted, members.count < self.members else {
                return nil
            }
            members.append(member)
        }
        if self.length(of: members) > self.length { members.removeAll { $0.utf8.count > self.shortMember } }
        while self.length(of: members) > self.length { members.removeLast() }
        return members.isEmpty ? nil : members.joined(separator: ",")
    }

    private static func length(of members: [Substring]) -> Int {
        members.reduce(max(0, members.count - 1)) { $0 + $1.utf8.count }
    }

    /// The key of a member; nil where it is none.
    private static func key(of member: Substring) -> Substring? {
        guard let equals = member.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let (key, value) = (member[..<equals], member[equals...].dropFirst())
        guard (1...256).contains(key.utf8.count), let first = key.utf8.first, self.isWord(first),
            key.utf8.allSatisfy({ self.isWord($0) || "_-*/@".utf8.contains($0) }),
            (1...256).contains(value.utf8.count),
            value.utf8.allSatisfy({ (0x20...0x7e).contains($0) && $0 != UInt8(ascii: "=") })
        else { return nil }
        return key
    }

    private static func isWord(_ octet: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(octet)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet)
    }
}
