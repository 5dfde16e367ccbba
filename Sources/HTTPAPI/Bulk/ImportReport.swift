import PushModel
import Store
import WebServing

/// The progress of an import and the results of its lines.
struct ImportReport: Sendable {
    /// A line that was not taken.
    struct Fault: Sendable {
        let line: Int
        let fault: InvalidValue
    }

    /// The most faults that are listed; all are counted.
    static let maximumFaults = 100

    /// Lines done from the beginning.
    ///
    /// The results below count each of them, except blank lines.
    private(set) var lines = 0
    private(set) var created = 0
    private(set) var updated = 0
    private(set) var superseded = 0
    private(set) var failed = 0
    private(set) var faults: [Fault] = []

    /// Adds a group of lines.
    ///
    /// - Parameters:
    ///   - group: The lines.
    ///   - results: The store's results for its registrations.
    mutating func add(_ group: ImportGroup, results: [ImportResult]) {
        var faults = group.faults
        for (line, result) in zip(group.numbers, results) {
            switch result {
            case .created: self.created += 1
            case .updated: self.updated += 1
            case .superseded: self.superseded += 1
            case .gone:
                faults.append(
                    Fault(
                        line: line,
                        fault: InvalidValue(member: "id", "was deleted and cannot be used again")
                    )
                )
            case .refused(let reason):
                faults.append(Fault(line: line, fault: InvalidValue(member: "template", reason)))
            }
        }
        self.failed += faults.count
        self.lines = group.end
        let capacity = Self.maximumFaults - self.faults.count
        if capacity > 0 { self.faults += faults.sorted { $0.line < $1.line }.prefix(capacity) }
    }

    var text: JSONValue {
        .members([
            "lines": .integer(self.lines),
            "created": .integer(self.created),
            "updated": .integer(self.updated),
            "superseded": .integer(self.superseded),
            "failed": .integer(self.failed),
            "errors": .array(
                self.faults.map {
                    .members([
                        "line": .integer($0.line),
                        "member": .string($0.fault.member),
                        "reason": .string($0.fault.reason),
                    ])
                }
            ),
        ])
    }
}

/// Lines that are written together.
struct ImportGroup: Sendable {
    private(set) var rows: [ImportedRegistration] = []
    /// The line of each row.
    private(set) var numbers: [Int] = []
    private(set) var faults: [ImportReport.Fault] = []
    /// The last line.
    private(set) var end: Int
    private var size = 0

    /// - Parameter start: The last line before the group.
    init(after start: Int) { self.end = start }

    /// Large enough that writing it in the order of users and handles pays, and small enough to hold a few of them in memory.
    var isFull: Bool { self.rows.count + self.faults.count >= 32_768 || self.size >= 8 << 20 }

    mutating func add(_ line: LineSplitter.Line, limit: Int, reader: ImportLine) {
        self.end = line.number
        guard !line.isBlank else { return }
        self.size += line.bytes?.count ?? 0
        do throws(InvalidValue) {
            guard let bytes = line.bytes else { throw InvalidValue("the line has more than \(limit) bytes") }
            self.rows.append(try reader.registration(bytes))
            self.numbers.append(line.number)
        } catch {
            self.faults.append(ImportReport.Fault(line: line.number, fault: error))
        }
    }
}
