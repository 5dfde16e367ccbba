import PushlineClient

/// A server's refusal in words: the message, what to do, and the members that are wrong where there are several.
struct Rejection {
    /// The most members to tell.
    static let mostFaults = 10

    let error: PushlineError
    /// What a member is called where the person wrote it; its own name unless given.
    var name: (String) -> String = { $0 }

    /// Safe for a terminal; each member has a line of its own.
    var text: String {
        let faults = self.error.faults
        var lines = [Console.safe(self.error.message) + Advice.after(self.error)]
        // Of one fault the message says all, but for where it stands in a file.
        if faults.count > 1 || faults.contains(where: { self.name($0.member) != $0.member }) {
            lines += faults.prefix(Self.mostFaults).map { Console.safe("\(self.name($0.member)): \($0.reason)") }
            if faults.count > Self.mostFaults { lines.append("and \(faults.count - Self.mostFaults) more") }
        }
        return lines.joined(separator: "\n  ")
    }
}
