/// Writes JSON: the one place that puts braces, brackets, commas and colons.
///
/// A ``JSONValue`` as a whole; or member by member, as the value would be written but without the values, for the answers that are
/// given most.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var isFirst = true
    /// How deep the next line is.
    private var depth = 0
    /// Whether each value is on its own line.
    private var isIndented = false

    /// Writes an object.
    ///
    /// - Parameter members: Writes the members.
    /// - Returns: The JSON text in UTF-8, without spaces.
    package static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        // With its header it just fits malloc's per-thread cache.
        writer.bytes.reserveCapacity(992)
        writer.enclose("{", "}", members)
        return writer.bytes
    }

    /// Writes a value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - isIndented: Whether each value is on its own line, indented by two spaces a level; text already written is
    ///     copied.
    /// - Returns: The JSON text in UTF-8.
    package static func bytes(of value: JSONValue, isIndented: Bool = false) -> [UInt8] {
        var writer = JSONWriter()
        // Enough for most payloads: growing would copy the bytes repeatedly.
        writer.bytes.reserveCapacity(256)
        writer.isIndented = isIndented
        writer.put(value)
        return writer.bytes
    }

    // MARK: Members; one that is nil is left out

    package mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        self.begin(name)
        self.bytes.appendJSONString(text)
    }

    package mutating func add(_ name: String, _ number: Int?) {
        guard let number else { return }
        self.begin(name)
        // Counts are mostly small, and nearly all of a job's are 0.
        if (0..<10).contains(number) {
            self.bytes.append(UInt8(ascii: "0") + UInt8(number))
        } else {
            self.bytes.append(contentsOf: String(number).utf8)
        }
    }

    package mutating func add(_ name: String, _ flag: Bool) {
        self.begin(name)
        self.bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    package mutating func add(_ name: String, _ time: Timestamp?) {
        guard let time else { return }
        self.begin(name)
        self.bytes.append(UInt8(ascii: "\""))
        time.appendText(to: &self.bytes)
        self.bytes.append(UInt8(ascii: "\""))
    }

    package mutating func add(_ name: String, _ value: JSONValue?) {
        guard let value else { return }
        self.begin(name)
        self.put(value)
    }

    package mutating func add(_ name: String, members: (inout JSONWriter) -> Void) {
        self.begin(name)
        self.enclose("{", "}", members)
    }

    /// Adds an array, whose elements are written by ``append(_:)``.
    package mutating func addArray(_ name: String, elements: (inout JSONWriter) -> Void) {
        self.begin(name)
        self.enclose("[", "]", elements)
    }

    /// Writes an array's next element.
    package mutating func append(_ text: String) {
        self.separate()
        self.bytes.appendJSONString(text)
    }

    // MARK: Values

    private mutating func put(_ value: JSONValue) {
        switch value {
        case .null: self.bytes.append(contentsOf: "null".utf8)
        case .bool(let value): self.bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): self.bytes.append(utf8Of: text)
        case .string(let text): self.bytes.appendJSONString(text)
        case .written(let text): self.bytes.append(contentsOf: text)
        case .array(let values):
            self.enclose("[", "]") { writer in
                for value in values {
                    writer.separate()
                    writer.put(value)
                }
            }
        case .object(let members):
            self.enclose("{", "}") { writer in
                for member in members {
                    writer.begin(member.name)
                    writer.put(member.value)
                }
            }
        }
    }

    // MARK: Separators

    private mutating func begin(_ name: String) {
        self.separate()
        self.bytes.appendJSONString(name)
        self.bytes.append(UInt8(ascii: ":"))
        if self.isIndented { self.bytes.append(UInt8(ascii: " ")) }
    }

    private mutating func separate() {
        if !self.isFirst { self.bytes.append(UInt8(ascii: ",")) }
        self.isFirst = false
        if self.isIndented { self.breakLine() }
    }

    private mutating func enclose(
        _ opening: Unicode.Scalar,
        _ end: Unicode.Scalar,
        _ content: (inout JSONWriter) -> Void
    ) {
        self.bytes.append(UInt8(ascii: opening))
        self.isFirst = true
        self.depth += 1
        content(&self)
        self.depth -= 1
        if self.isIndented, !self.isFirst { self.breakLine() }
        self.bytes.append(UInt8(ascii: end))
        self.isFirst = false
    }

    private mutating func breakLine() {
        self.bytes.append(UInt8(ascii: "\n"))
        self.bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * self.depth))
    }
}
