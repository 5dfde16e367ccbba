#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What work on an input costs, as the CPU time of this thread: a busy machine makes it no longer.
package enum WorkCost {
    /// Against a plain pass over the same bytes.
    package static let mostPasses = 50.0
    /// How much more twice the input may cost.
    package static let mostGrowth = 2.5
    /// Shorter inputs are measured as if they had so many bytes: what precedes the first byte is not a cost of the bytes.
    private static let least = 2048

    /// The CPU time of some work, in seconds.
    package static func seconds(_ work: () throws -> Void) rethrows -> Double {
        let start = self.threadTime
        try work()
        return self.threadTime - start
    }

    /// How many plain passes over an input some work costs.
    ///
    /// - Parameters:
    ///   - input: What it reads.
    ///   - most: What it may cost: where it seems dearer it is done more often, for beside a build caches are cold for long.
    ///   - attempts: How often it is done at least; the cheapest counts, for interrupts and cold caches make it dearer.
    ///   - work: The work.
    /// - Returns: The number.
    /// - Throws: What the work throws.
    package static func passes(
        over input: [UInt8],
        upTo most: Double = Self.mostPasses,
        attempts: Int = 1,
        _ work: () throws -> Void
    ) rethrows -> Double {
        let pass = self.secondsPerByte * Double(max(input.count, self.least))
        var passes = Double.infinity
        for attempt in 1...max(attempts, 40) where attempt <= attempts || passes > most {
            passes = min(passes, try self.seconds(work) / pass)
        }
        return passes
    }

    /// How much dearer work is than another.
    ///
    /// - Parameters:
    ///   - long: On the long input.
    ///   - short: On the short one.
    /// - Returns: How many times.
    /// - Throws: What the work throws.
    package static func growth(_ long: () throws -> Void, over short: () throws -> Void) rethrows -> Double {
        var (longest, shortest) = (Double.infinity, Double.infinity)
        // Below a tenth of a millisecond it is what precedes the first byte.
        var growth: Double { longest / max(shortest, 0.0001) }
        // In turn: what disturbs one disturbs the other. More often where it seems too dear: beside a build caches are cold for long.
        for round in 1...20 where round <= 3 || growth > self.mostGrowth {
            shortest = min(shortest, try self.seconds(short))
            longest = min(longest, try self.seconds(long))
        }
        return growth
    }

    /// What a plain pass costs on this machine, in this build.
    private static let secondsPerByte: Double = {
        let bytes = [UInt8](repeating: 0x61, count: 1 << 18)
        var best = Double.infinity
        for _ in 0..<5 {
            // Never so: the pass is needed.
            best = min(best, WorkCost.seconds { precondition(WorkCost.plainPass(bytes) != 0) })
        }
        return best / Double(bytes.count)
    }()

    /// Looks at each byte once, each after the one before (FNV-1a).
    private static func plainPass(_ bytes: [UInt8]) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }

    private static var threadTime: Double {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        precondition(result == 0, "the system counts no CPU time of threads")
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
