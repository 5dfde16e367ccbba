// Arithmetic on numbers from outside a process (headers, bodies, rows, answers): what does not fit is the nearest that does. A trap would
// end the process, and the number would be there again when it comes back.

extension FixedWidthInteger {
    /// The sum, or the bound that it is beyond.
    package func clampedAdding(_ other: Self) -> Self {
        let (sum, isBeyond) = self.addingReportingOverflow(other)
        guard isBeyond else { return sum }
        return other > 0 ? .max : .min
    }

    /// The difference, or the bound that it is beyond.
    package func clampedSubtracting(_ other: Self) -> Self {
        let (difference, isBeyond) = self.subtractingReportingOverflow(other)
        guard isBeyond else { return difference }
        return other > 0 ? .min : .max
    }

    /// The product, or the bound that it is beyond.
    package func clampedMultiplied(by other: Self) -> Self {
        let (product, isBeyond) = self.multipliedReportingOverflow(by: other)
        guard isBeyond else { return product }
        return (self > 0) == (other > 0) ? .max : .min
    }

    /// The nearest whole number below; 0 for no number.
    package init(clamping number: Double) {
        guard !number.isNaN else {
            self = 0
            return
        }
        self = Self(exactly: number.rounded(.down)) ?? (number > 0 ? .max : .min)
    }
}
