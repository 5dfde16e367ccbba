import PushModel
import WebServing

/// The lists of a send's `to`: users, tags, handles or registrations.
enum SendList {
    /// The most that a list may name.
    static let maximum = 20_000
    private static let shownFaults = 10

    /// Reads each value, with its place from 1 on.
    ///
    /// - Parameters:
    ///   - values: The list.
    ///   - to: The object that has it.
    ///   - member: Its name there.
    ///   - kind: What it lists, in the plural.
    ///   - take: Reads a value; what it throws has no path, for there are thousands.
    /// - Throws: ``Problem`` that names the first few wrong places.
    static func read(
        _ values: [JSONValue],
        of to: StrictMembers,
        _ member: String,
        of kind: String,
        _ take: (Int, JSONValue) throws(InvalidValue) -> Void
    ) throws {
        guard (1...Self.maximum).contains(values.count) else {
            throw to.fault(member, "must have 1 to \(Self.maximum) \(kind)")
        }
        var faults: [InvalidValue] = []
        for (index, value) in values.enumerated() {
            do { try take(index + 1, value) } catch {
                faults.append(error.named("\(to.name(of: member))[\(index)]"))
            }
            if faults.count == Self.shownFaults { break }
        }
        guard faults.isEmpty else { throw Problem.invalid(faults) }
    }

    /// The tags that a list of texts stands for; see ``read(_:of:_:of:_:)``.
    static func tags(
        _ values: [JSONValue],
        of to: StrictMembers,
        _ member: String,
        of kind: String,
        _ tag: (String) throws(InvalidValue) -> Tag
    ) throws -> [Tag] {
        var tags: [Tag] = []
        tags.reserveCapacity(values.count)
        try Self.read(values, of: to, member, of: kind) { _, value throws(InvalidValue) in
            guard case .string(let text) = value else { throw InvalidValue(value.mustBe("a string")) }
            tags.append(try tag(text))
        }
        return tags
    }
}
