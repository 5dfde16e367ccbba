/// Which of its app's credentials each device of a list is reached with.
///
/// It takes no room where all have the default.
package struct DeviceCredentials: Sendable, Equatable {
    /// The others that devices have, each once.
    package private(set) var names: [CredentialName] = []
    /// 0 for the default, otherwise the place in ``names``, from 1 on; the devices behind the last have the default.
    private(set) var places: [UInt16] = []

    package init() {}

    /// Whether all devices have the default.
    package var isEmpty: Bool { self.names.isEmpty }

    /// The credential of a device.
    package subscript(index: Int) -> CredentialName {
        guard index < self.places.count, self.places[index] > 0 else { return .default }
        return self.names[Int(self.places[index]) - 1]
    }

    /// Those of some of the devices.
    package subscript(range: Range<Int>) -> DeviceCredentials {
        var some = DeviceCredentials()
        guard !self.isEmpty else { return some }
        for index in range { some.append(self[index], at: index - range.lowerBound) }
        return some
    }

    /// Notes the credential of the next device.
    ///
    /// - Parameters:
    ///   - name: The credential.
    ///   - index: The device, behind those that were noted before.
    package mutating func append(_ name: CredentialName, at index: Int) {
        guard name != .default else { return }
        let place: Int
        if let known = self.names.firstIndex(of: name) {
            place = known + 1
        } else {
            self.names.append(name)
            place = self.names.count
        }
        while self.places.count < index { self.places.append(0) }
        self.places.append(UInt16(place))
    }

    /// How many of the first devices have each of ``names``.
    package func counts(of devices: Int) -> [CredentialName: Int] {
        guard !self.isEmpty else { return [:] }
        var counts = [Int](repeating: 0, count: self.names.count)
        for place in self.places.prefix(devices) where place > 0 { counts[Int(place) - 1] += 1 }
        return Dictionary(uniqueKeysWithValues: zip(self.names, counts).filter { $0.1 > 0 })
    }

    /// The bytes that they take in a message, about.
    var wireSize: Int {
        self.isEmpty ? 0 : 2 * self.places.count + self.names.reduce(8) { $0 + 4 + $1.name.utf8.count }
    }
}

extension DeviceCredentials {
    /// Writes the binary form: `names u16 · name… · count u32 · places u16…`.
    func write(to writer: inout ByteWriter) {
        writer.integer(UInt16(self.names.count))
        for name in self.names { writer.text(name.name) }
        writer.integer(UInt32(self.places.count))
        writer.integers(self.places)
    }

    /// Reads ``write(to:)``.
    ///
    /// - Parameters:
    ///   - reader: Where it begins.
    ///   - devices: The most that it may speak of.
    /// - Throws: ``MalformedDelivery``.
    init(reading reader: inout ByteReader, devices: Int) throws(MalformedDelivery) {
        let count: UInt16 = try reader.integer()
        var names: [CredentialName] = []
        for _ in 0..<count {
            guard let name = try? CredentialName(try reader.text()) else {
                throw MalformedDelivery("a credential has no legal name")
            }
            names.append(name)
        }
        let length: UInt32 = try reader.integer()
        guard Int(length) <= devices, Int(length) * 2 <= reader.remaining else {
            throw MalformedDelivery("it has credentials of more than its devices")
        }
        let places: [UInt16] = try reader.integers(Int(length))
        for (index, place) in places.enumerated() where place > 0 {
            guard Int(place) <= names.count else { throw MalformedDelivery("a device has a credential without a name") }
            self.append(names[Int(place) - 1], at: index)
        }
        guard !self.isEmpty else { throw MalformedDelivery("it has none of its credentials") }
    }
}
