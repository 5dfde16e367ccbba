import PushModel

// The lists of a send's `to`. An error names the first few wrong places.
extension RecipientList {
    /// Of a device with a handle.
    private static let members = ["service", "handle", "credential", "reference"]

    /// Reads `to.handles`.
    ///
    /// - Parameters:
    ///   - values: `[{"service": …, "handle": …, "credential": …, "reference": …}, …]`.
    ///   - to: The object that has them.
    ///   - spec: The app, which says what handles may be like.
    /// - Throws: ``Problem`` that names the places.
    init(handles values: [JSONValue], of to: StrictMembers, spec: AppSpec) throws {
        var list: [Recipient] = []
        list.reserveCapacity(values.count)
        try SendList.read(values, of: to, "handles", of: "devices") { place, value throws(InvalidValue) in
            list.append(try Self.recipient(value, place: place, spec: spec))
        }
        self.init(handles: list)
    }

    /// Reads `to.channel`, with the credential beside it: a broadcast channel stands where a device stands.
    ///
    /// - Parameters:
    ///   - channel: The channel's id.
    ///   - to: The object that has it.
    ///   - spec: The app, which says what credentials there are.
    /// - Throws: ``Problem`` that names the member.
    init(channel: String, of to: StrictMembers, spec: AppSpec) throws {
        let id: APNsChannelID
        do { id = try APNsChannelID(channel) } catch { throw to.fault("channel", error.reason) }
        let name = try to.string("credential")
        let credential: CredentialName
        do { credential = try spec.credential(name, of: .apns) } catch { throw to.fault("credential", error.reason) }
        self.init(
            handles: [
                Recipient(
                    place: 1,
                    pns: .apns,
                    handle: id.handle,
                    credential: credential,
                    reference: channel.count <= Recipient.longestReference ? channel : nil
                )
            ]
        )
    }

    /// Reads `to.registrations`.
    ///
    /// - Parameters:
    ///   - values: The ids.
    ///   - to: The object that has them.
    /// - Throws: ``Problem`` that names the places.
    init(registrations values: [JSONValue], of to: StrictMembers) throws {
        var list: [RegistrationID] = []
        list.reserveCapacity(values.count)
        try SendList.read(values, of: to, "registrations", of: "devices") { _, value throws(InvalidValue) in
            guard case .string(let text) = value else { throw InvalidValue(value.mustBe("a string")) }
            guard let id = RegistrationID(text) else {
                throw InvalidValue("must be an id: 1 to 128 letters, digits and - _ . ~")
            }
            list.append(id)
        }
        self.init(registrations: list)
    }

    /// A device by its handle; without a path until there is a fault, for there are thousands.
    private static func recipient(
        _ value: JSONValue,
        place: Int,
        spec: AppSpec
    ) throws(InvalidValue) -> Recipient {
        guard case .object(let members) = value else {
            throw InvalidValue(value.mustBe("an object with service and handle"))
        }
        var service: String?
        var address: String?
        var credential: String?
        var reference: String?
        for member in members {
            guard Self.members.contains(member.name) else {
                throw InvalidValue(
                    member: StrictMembers.shorten(member.name),
                    StrictMembers.unknown(member.name, known: Self.members)
                )
            }
            if ["credential", "reference"].contains(member.name), case .null = member.value { continue }
            guard case .string(let text) = member.value else {
                throw InvalidValue(member: member.name, member.value.mustBe("a string"))
            }
            let earlier: String?
            switch member.name {
            case "service":
                earlier = service
                service = text
            case "handle":
                earlier = address
                address = text
            case "credential":
                earlier = credential
                credential = text
            default:
                earlier = reference
                reference = text
            }
            guard earlier == nil else { throw InvalidValue(member: member.name, "is given twice") }
        }
        guard let pns = service.flatMap(PushService.init(rawValue:)) else {
            throw PushService.unknown(service).named("service")
        }
        let handle: Handle
        do { handle = try spec.handle(address ?? "", of: pns) } catch { throw error.named("handle") }
        let declared: CredentialName
        do { declared = try spec.credential(credential, of: pns) } catch { throw error.named("credential") }
        if let reference {
            let scalars = reference.unicodeScalars
            guard (1...Recipient.longestReference).contains(scalars.count), scalars.allSatisfy({ $0.value >= 0x20 })
            else {
                throw InvalidValue(
                    member: "reference",
                    "must have 1 to \(Recipient.longestReference) characters, and no control character"
                )
            }
        }
        return Recipient(place: place, pns: pns, handle: handle, credential: declared, reference: reference)
    }
}
