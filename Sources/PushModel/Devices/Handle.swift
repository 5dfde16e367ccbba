/// A device's address at its push service: an APNs token, an FCM token, a WNS channel URI, a subscription of Web Push.
///
/// Opaque but for its form.
package struct Handle: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The greatest length, in bytes of UTF-8, for any service.
    package static let maximumLength = 2048

    /// The address as it is sent; APNs tokens in lower-case hexadecimal, since they compare without regard to case.
    package let text: String

    /// Checks and normalises an address given by an app.
    ///
    /// - Parameters:
    ///   - text: The text from the app.
    ///   - pns: The address's service.
    ///   - channelPrefixes: For a service whose devices choose the host, the beginnings of handles that are accepted
    ///     beside the service's own domain. A forged host would receive the app's bearer token.
    /// - Throws: ``InvalidValue`` with the reason and without the address.
    package init(_ text: String, pns: PushService, channelPrefixes: [String] = []) throws(InvalidValue) {
        guard !text.isEmpty else { throw InvalidValue("a handle is required") }
        guard text.utf8.count <= Handle.maximumLength else {
            throw InvalidValue("a handle has at most \(Handle.maximumLength) bytes")
        }
        self.text = try pns.descriptor.handle.normalise(text, channelPrefixes)
    }

    /// An address that was checked when it was stored.
    package init(stored text: String) { self.text = text }

    /// The forms under which a handle of unknown service may be stored: as it is, in lower case, and as a service writes it.
    package static func lookupForms(of text: String) -> [Handle] {
        var forms = [text]
        for form in [text.lowercased()] + PushService.allCases.compactMap({ $0.descriptor.handle.lookup(text) })
        where !forms.contains(form) {
            forms.append(form)
        }
        return forms.map(Handle.init(stored:))
    }

    /// The texts of all handles that reach the same device at the service, as a range in the order of their bytes.
    ///
    /// Its lower bound is the handle's identity. For most services that is the handle, and the range holds nothing else.
    package func sameDevice(at pns: PushService) -> ClosedRange<String> {
        guard let identity = pns.descriptor.handle.identity(self.text) else { return self.text...self.text }
        // Behind all visible characters but itself, which no handle with such an identity contains.
        return identity...identity + "~"
    }

    package init(from decoder: any Decoder) throws {
        self.text = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.text)
    }

    /// The shortened form for logs and answers, because a whole handle lets its reader send to the device.
    package var description: String {
        self.text.count <= 12 ? "…" : "\(self.text.prefix(4))…\(self.text.suffix(4))"
    }
}

/// The addresses of a batch, one after the other in a single buffer: no object a device.
package struct HandleList: Sendable, Equatable {
    /// All addresses, in UTF-8, without separators.
    package private(set) var bytes: [UInt8] = []
    /// Where each address ends in ``bytes``.
    package private(set) var ends: [Int] = []

    package init() {}

    package init(_ handles: some Sequence<Handle>) {
        for handle in handles { self.append(handle.text.utf8) }
    }

    /// Takes buffers as they are.
    ///
    /// - Returns: nil if the ends do not ascend up to the end of the bytes.
    init?(bytes: [UInt8], ends: [Int]) {
        var start = 0
        for end in ends {
            guard end >= start else { return nil }
            start = end
        }
        guard start == bytes.count else { return nil }
        self.bytes = bytes
        self.ends = ends
    }

    package var count: Int { self.ends.count }

    package mutating func reserveCapacity(_ count: Int, bytes: Int) {
        self.ends.reserveCapacity(count)
        self.bytes.reserveCapacity(bytes)
    }

    package mutating func append(_ utf8: some Sequence<UInt8>) {
        self.bytes.append(contentsOf: utf8)
        self.ends.append(self.bytes.count)
    }

    // The same without a generic in the way, which costs a lookup of types in each call from another module.
    package mutating func append(_ utf8: UnsafeBufferPointer<UInt8>) {
        unsafe self.bytes.append(contentsOf: utf8)
        self.ends.append(self.bytes.count)
    }

    /// How many bytes one address has.
    package func length(at index: Int) -> Int { self.ends[index] - (index == 0 ? 0 : self.ends[index - 1]) }

    /// A copy of some of the addresses.
    package subscript(range: Range<Int>) -> HandleList {
        guard let last = range.last else { return HandleList() }
        let start = range.lowerBound == 0 ? 0 : self.ends[range.lowerBound - 1]
        var copy = HandleList()
        copy.bytes = Array(self.bytes[start..<self.ends[last]])
        copy.ends = self.ends[range].map { $0 - start }
        return copy
    }

    /// The bytes of one address.
    package subscript(index: Int) -> ArraySlice<UInt8> {
        self.bytes[(index == 0 ? 0 : self.ends[index - 1])..<self.ends[index]]
    }

    package func handle(at index: Int) -> Handle {
        Handle(stored: String(decoding: self[index], as: UTF8.self))
    }

    /// The same addresses at half their length, two lower-case hexadecimal digits in a byte: so a thousand APNs tokens fit one
    /// message; nil where an address is not made of such pairs.
    func packed() -> HandleList? {
        guard self.ends.allSatisfy({ $0.isMultiple(of: 2) }) else { return nil }
        var faults: UInt8 = 0
        let halves = unsafe [UInt8](unsafeUninitializedCapacity: self.bytes.count / 2) { halves, count in
            for index in 0..<self.bytes.count / 2 {
                let (high, low) = (Self.value(self.bytes[2 * index]), Self.value(self.bytes[2 * index + 1]))
                faults |= high | low
                unsafe halves.initializeElement(at: index, to: high << 4 | low & 15)
            }
            count = self.bytes.count / 2
        }
        guard faults & 0xF0 == 0 else { return nil }
        return HandleList(bytes: halves, ends: self.ends.map { $0 / 2 })
    }

    /// Undoes ``packed()``.
    func unpacked() -> HandleList {
        let digits = unsafe [UInt8](unsafeUninitializedCapacity: self.bytes.count * 2) { digits, count in
            for (index, byte) in self.bytes.enumerated() {
                unsafe digits.initializeElement(at: 2 * index, to: UInt8(digit: byte >> 4))
                unsafe digits.initializeElement(at: 2 * index + 1, to: UInt8(digit: byte & 15))
            }
            count = self.bytes.count * 2
        }
        // Doubling keeps the order.
        return HandleList(bytes: digits, ends: self.ends.map { $0 * 2 }) ?? HandleList()
    }

    /// The value of a lower-case digit; above 15 where it is none.
    private static func value(_ digit: UInt8) -> UInt8 {
        let (number, letter) = (digit &- 0x30, digit &- 0x61)
        return number < 10 ? number : letter < 6 ? letter + 10 : 0xFF
    }
}
