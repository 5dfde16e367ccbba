import PushModel

/// Writes a JSON object member by member, as ``JSONValue`` would be written, but without the values: for the answers that are given
/// most.
///
/// Names are ours and need no escape; a member that is nil is left out.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var isFirst = true

    /// - Parameter members: Writes the members.
    /// - Returns: The JSON text in UTF-8.
    static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        // With its header no more than what malloc keeps for each thread.
        writer.bytes.reserveCapacity(992)
        writer.braces(members)
        return writer.bytes
    }

    mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        self.begin(name)
        self.bytes.appendJSONString(text)
    }

    mutating func add(_ name: String, _ number: Int?) {
        guard let number else { return }
        self.begin(name)
        // Counts are mostly small, and nearly all of a job's are 0.
        if (0..<10).contains(number) {
            self.bytes.append(UInt8(ascii: "0") + UInt8(number))
        } else {
            self.bytes.append(contentsOf: String(number).utf8)
        }
    }

    mutating func add(_ name: String, _ flag: Bool) {
        self.begin(name)
        self.bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    mutating func add(_ name: String, _ time: Timestamp?) {
        guard let time else { return }
        self.begin(name)
        self.bytes.append(UInt8(ascii: "\""))
        time.appendText(to: &self.bytes)
        self.bytes.append(UInt8(ascii: "\""))
    }

    mutating func add(_ name: String, _ value: JSONValue?) {
        guard let value else { return }
        self.begin(name)
        value.write(to: &self.bytes)
    }

    mutating func add(_ name: String, _ texts: some Sequence<String>) {
        self.begin(name)
        self.bytes.append(UInt8(ascii: "["))
        var isFirst = true
        for text in texts {
            if !isFirst { self.bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            self.bytes.appendJSONString(text)
        }
        self.bytes.append(UInt8(ascii: "]"))
    }

    mutating func add(_ name: String, members: (inout JSONWriter) -> Void) {
        self.begin(name)
        self.braces(members)
    }

    private mutating func begin(_ name: String) {
        if !self.isFirst { self.bytes.append(UInt8(ascii: ",")) }
        self.isFirst = false
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(utf8Of: name)
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(UInt8(ascii: ":"))
    }

    private mutating func braces(_ members: (inout JSONWriter) -> Void) {
        self.bytes.append(UInt8(ascii: "{"))
        self.isFirst = true
        members(&self)
        self.bytes.append(UInt8(ascii: "}"))
        self.isFirst = false
    }
}
