/// A kind of input that costs a parser more than others of its size.
package struct DearInput: Sendable, CustomStringConvertible {
    package let description: String
    /// Whether it is read to its end, and not refused.
    package let isTaken: Bool
    /// Makes one of about so many bytes.
    package let make: @Sendable (Int) -> [UInt8]
    private let read: @Sendable ([UInt8]) throws -> Void

    /// - Parameters:
    ///   - description: The parser, and what is dear.
    ///   - isTaken: Whether it is read to its end.
    ///   - make: Makes one of about so many bytes.
    ///   - read: Reads it.
    package init(
        _ description: String,
        isTaken: Bool = true,
        _ make: @escaping @Sendable (Int) -> [UInt8],
        read: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.description = description
        self.isTaken = isTaken
        self.make = make
        self.read = read
    }

    /// What it costs.
    package struct Cost: Sendable {
        /// In plain passes over its bytes.
        package let passes: Double
        /// Of an input of twice the size, against this one.
        package let growth: Double
        package let wasTaken: Bool
    }

    /// Measures it.
    ///
    /// - Parameter size: How many bytes the longer input has.
    /// - Returns: Its cost, and that of one of half the size.
    package func cost(size: Int) -> Cost {
        let (long, short) = (self.make(size), self.make(size / 2))
        let wasTaken = (try? self.read(long)) != nil
        var (growth, passes) = (Double.infinity, Double.infinity)
        // A machine that is busy makes single readings dearer, and what is dear stays so.
        for _ in 0..<4 where growth > WorkCost.mostGrowth || passes > WorkCost.mostPasses {
            growth = min(growth, WorkCost.growth({ try? self.read(long) }, over: { try? self.read(short) }))
            passes = min(passes, WorkCost.passes(over: long, attempts: 2) { try? self.read(long) })
        }
        return Cost(passes: passes, growth: growth, wasTaken: wasTaken)
    }

    /// Repeats a piece until the text has about so many bytes.
    package static func fill(
        _ size: Int,
        _ piece: String,
        between begin: String = "",
        and end: String = ""
    ) -> [UInt8] {
        let room = max(0, size - begin.utf8.count - end.utf8.count)
        return Array((begin + String(repeating: piece, count: room / piece.utf8.count) + end).utf8)
    }

    /// The same with pieces that differ by their numbers, divided by a separator.
    package static func number(
        _ size: Int,
        between begin: String = "",
        and end: String = "",
        by separator: String = ",",
        _ piece: (Int) -> String
    ) -> [UInt8] {
        var text = begin
        var index = 0
        while text.utf8.count + end.utf8.count < size {
            if index > 0 { text += separator }
            text += piece(index)
            index += 1
        }
        return Array((text + end).utf8)
    }
}
