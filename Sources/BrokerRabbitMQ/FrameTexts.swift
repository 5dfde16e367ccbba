import CRabbitMQ

/// The texts of one frame in one piece of memory, so that the library can be given pointers to them.
struct FrameTexts {
    private var octets: [UInt8] = []

    mutating func removeAll() {
        self.octets.removeAll(keepingCapacity: true)
    }

    /// Adds a text and returns its range.
    mutating func append(_ text: String) -> Range<Int> {
        let start = self.octets.count
        self.octets.append(contentsOf: text.utf8)
        return start..<self.octets.count
    }

    /// Runs `body` with a function from places to pointers, which are good for as long as it runs.
    mutating func withBytes<Result>(_ body: ((Range<Int>) -> amqp_bytes_t) -> Result) -> Result {
        unsafe self.octets.withUnsafeMutableBytes { buffer in
            unsafe body { range in
                // The buffer of no octets has no address, and the library wants none for them.
                guard let base = buffer.baseAddress, !range.isEmpty else {
                    return unsafe amqp_bytes_t(len: 0, bytes: nil)
                }
                return unsafe amqp_bytes_t(len: range.count, bytes: base + range.lowerBound)
            }
        }
    }
}
