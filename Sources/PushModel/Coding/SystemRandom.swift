import Foundation

/// Random numbers of the system, 32 at a time: asked for one by one, each costs a system call.
package struct SystemRandom: RandomNumberGenerator {
    /// As many bytes as the system always gives at once.
    private static let count = 256 / MemoryLayout<UInt64>.size

    private var numbers: [UInt64] = []

    package init() {}

    package mutating func next() -> UInt64 {
        if let number = self.numbers.popLast() { return number }
        self.numbers = unsafe [UInt64](unsafeUninitializedCapacity: Self.count) { buffer, count in
            let bytes = MemoryLayout<UInt64>.stride * Self.count
            if let start = buffer.baseAddress, unsafe getentropy(start, bytes) == 0 { count = Self.count }
        }
        // If the system gives no numbers, Swift's own generator handles it.
        if let number = self.numbers.popLast() { return number }
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
