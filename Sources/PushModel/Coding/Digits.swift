extension UInt8 {
    /// The ASCII character of a digit: `0` to `9`, then `a` to `z`.
    ///
    /// - Parameter value: At most 35; 15 in hexadecimal numbers.
    package init(digit value: UInt8) {
        self = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
