/// Takes down the path and the own headers of one request, in buffers that serve all requests of a connection.
package struct HTTP2RequestHead {
    struct Own {
        let name: StaticString
        let start: Int
        let end: Int
    }

    private(set) var bytes: [UInt8] = []
    private(set) var pathLength = 0
    private(set) var own: [Own] = []
    /// False once something was written that cannot be sent.
    private(set) var isValid = true

    /// How much was written, path and values together.
    package var byteCount: Int { self.bytes.count }

    package init() {}

    /// Appends to the path.
    package mutating func appendPath(_ text: StaticString) {
        for index in 0..<text.utf8CodeUnitCount { self.bytes.append(unsafe text.utf8Start[index]) }
        self.pathLength = self.bytes.count
    }

    /// Appends to the path; only visible ASCII can be sent.
    package mutating func appendPath(_ text: ArraySlice<UInt8>) {
        unsafe text.withUnsafeBufferPointer { text in
            if unsafe !HTTP2RequestHead.isVisible(text) { self.isValid = false }
            unsafe self.bytes.append(contentsOf: text)
        }
        self.pathLength = self.bytes.count
    }

    /// Adds a header after the path was written; its value is never put into the compression table.
    ///
    /// - Parameters:
    ///   - name: In lower case.
    ///   - write: Appends the value, and nothing else; only visible ASCII can be sent.
    package mutating func addField(_ name: StaticString, _ write: (inout [UInt8]) -> Void) {
        let start = self.bytes.count
        write(&self.bytes)
        let isVisible = unsafe self.bytes.withUnsafeBufferPointer { bytes in
            // A closure that shrank the buffer has removed a part of the path.
            unsafe bytes.count >= start && HTTP2RequestHead.isVisible(UnsafeBufferPointer(rebasing: bytes[start...]))
        }
        if !isVisible { self.isValid = false }
        self.own.append(Own(name: name, start: start, end: self.bytes.count))
    }

    /// Whether all is visible ASCII; without a branch a byte, for each request asks.
    private static func isVisible(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var faults: UInt8 = 0
        for index in 0..<bytes.count { unsafe faults |= bytes[index] &- 0x21 < 0x5E ? 0 : 1 }
        return faults == 0
    }

    package mutating func reset() {
        self.bytes.removeAll(keepingCapacity: true)
        self.own.removeAll(keepingCapacity: true)
        self.pathLength = 0
        self.isValid = true
    }
}
