/// A device of a send's list, or a call of a hub over a wire.
package struct Recipient: Sendable, Equatable {
    package let pns: PushService
    /// Names it in batches, retries and outcomes, as a registration's row does: that row, or its place in the list.
    ///
    /// Numbers of places lie above all rows, so that one says by itself which of both it is, and an `apns-id` that is
    /// derived from one is never that of the other.
    package let number: Int64
    /// nil for a registration: its present one is read with each try.
    package let target: Target?
    /// With which of the app's credentials a handle is reached; a registration has its own.
    package let credential: CredentialName
    /// The sender's own name for it.
    package let reference: String?

    /// The greatest length of a reference, in characters.
    package static let longestReference = 200
    /// No table of registrations has so many rows.
    private static let places: Int64 = 1 << 48

    /// A device by its handle.
    ///
    /// - Parameters:
    ///   - place: Its place in the list, from 1.
    ///   - pns: Its service.
    ///   - handle: Where it is reached.
    ///   - credential: With which of the app's credentials it is reached.
    ///   - reference: The sender's own name for it.
    package init(
        place: Int,
        pns: PushService,
        handle: Handle,
        credential: CredentialName = .default,
        reference: String?
    ) {
        self.pns = pns
        self.credential = credential
        self.number = Self.places + Int64(place)
        self.target = .device(handle)
        self.reference = reference
    }

    /// A call of a hub over a wire.
    ///
    /// - Parameters:
    ///   - place: Its place in the list, from 1.
    ///   - pns: The service that the hub is to send to.
    ///   - expression: Selects the hub's registrations.
    package init(place: Int, pns: PushService, call expression: TagExpression) {
        self.pns = pns
        self.credential = .default
        self.number = Self.places + Int64(place)
        (self.target, self.reference) = (.call(expression), nil)
    }

    /// A registration.
    package init(row: Int64, pns: PushService) {
        self.pns = pns
        self.number = row
        self.credential = .default
        (self.target, self.reference) = (nil, nil)
    }

    /// The place that a number stands for; nil if it is a registration's row.
    package static func place(of number: Int64) -> Int? { number > self.places ? Int(number - self.places) : nil }
}

/// The devices that a send names one by one.
package struct RecipientList: Sendable, Equatable {
    package enum Devices: Sendable, Equatable {
        case handles([Recipient])
        case registrations([RegistrationID])
    }

    /// Each once.
    package let devices: Devices
    /// How many were named.
    package let given: Int

    /// Devices by their handles, or calls: of several with one target the first counts.
    package init(handles: [Recipient]) {
        var known = Set<Address>(minimumCapacity: handles.count)
        self.devices = .handles(
            handles.filter { device in
                device.target.map { known.insert(Address(pns: device.pns, target: $0)).inserted } ?? false
            }
        )
        self.given = handles.count
    }

    /// Devices as registrations.
    package init(registrations: [RegistrationID]) {
        var known = Set<RegistrationID>(minimumCapacity: registrations.count)
        self.devices = .registrations(registrations.filter { known.insert($0).inserted })
        self.given = registrations.count
    }

    /// How many devices it names; of registrations some may not be there.
    package var count: RecipientCount {
        switch self.devices {
        case .handles(let handles): RecipientCount(kind: .handles, given: self.given, count: handles.count)
        case .registrations(let ids): RecipientCount(kind: .registrations, given: self.given, count: ids.count)
        }
    }

    private struct Address: Hashable {
        let pns: PushService
        let target: Target
    }
}
