import PushlineClient

/// A server's refusal as text: the message, the remedy, and the wrong members if there are several.
struct Rejection {
    /// The most members to show.
    static let mostFaults = 10

    let error: PushlineError
    /// The name of a member in the user's input; by default its own name.
    var name: (String) -> String = { $0 }

    /// The text, safe for a terminal; each member is on its own line.
    var text: String {
        let faults = self.error.faults
        var lines = [Console.safe(self.error.message) + Advice.after(self.error)]
        // The message covers a single fault, except for its place in a file.
        if faults.count > 1 || faults.contains(where: { self.name($0.member) != $0.member }) {
            lines += faults.prefix(Self.mostFaults).map { Console.safe("\(self.name($0.member)): \($0.reason)") }
            if faults.count > Self.mostFaults { lines.append("and \(faults.count - Self.mostFaults) more") }
        }
        return lines.joined(separator: "\n  ")
    }
}
