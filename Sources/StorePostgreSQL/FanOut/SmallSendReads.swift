import PushModel
import Store
import StoreKit
import StoreSQL

/// Reads the sends of a message with their devices: in one round trip the message and its members, and in another what these address, and
/// the credit for it.
struct SmallSendReads {
    let members: [Member]
    private let app: Int64
    private let priority: Priority
    private let flow: FlowControl
    private let services: ServiceLoads.Reads

    /// Takes the rows of ``members(of:after:)``.
    init(_ rows: [SQLRow], app: Int64, _ priority: Priority, _ flow: FlowControl) throws {
        self.members = try rows.map { try Member($0) }
        (self.app, self.priority, self.flow) = (app, priority, flow)
        let keys = PushService.inService.map { ServiceLoads.Key(app: app, pns: $0, priority: priority) }
        self.services = ServiceLoads.Reads(keys, now: flow.now)
    }

    /// A send as far as its job says.
    struct Member {
        let sequence: Int64
        let audience: SmallAudience
        /// Whether pages of it are written.
        let hasBegun: Bool
        fileprivate let request: SendRequest
        private let row: SQLRow

        fileprivate init(_ row: SQLRow) throws {
            guard case .send(let request) = try StoredJSON.work(from: Array((row["work"] as String).utf8)) else {
                throw StoreError(.corrupt, "a send message holds another job")
            }
            (self.sequence, self.request, self.row) = (try row["sequence"], request, row)
            self.hasBegun = try row["has_begun"]
            self.audience = SmallAudience(request)
        }

        /// Where it goes to one.
        fileprivate var tag: PushModel.Tag? { if case .tag(let tag) = self.audience { tag } else { nil } }

        fileprivate func send(_ audience: SmallSend.Audience, through: Int64) throws -> SmallSend {
            SmallSend(
                sequence: self.sequence,
                id: try self.row["id"],
                request: self.request,
                accepted: try self.row["accepted"],
                expires: try self.row["expires"],
                startsAt: try self.row["starts_at"],
                waiter: try self.row["waiter"],
                requestID: (try self.row["request"] as String?).flatMap { RequestID(stored: $0) },
                audience: audience,
                through: self.request.audience.expression == nil ? .max : through
            )
        }
    }

    // MARK: Statements

    static func message(_ message: MessageID, where condition: SQLStatement) -> SQLStatement {
        """
        SELECT message.id, app.name AS app, message.queue, message.priority, message.epoch, message.claims, message.open,
            message.app AS number
        FROM message JOIN app ON app.number = message.app WHERE message.id = \(message.number) AND \(condition)
        """
    }

    /// The members of a message behind one.
    static func members(of message: MessageID, after position: Int64) -> SQLStatement {
        """
        SELECT sequence, id, work, accepted, expires, starts_at, waiter, request,
            CASE WHEN EXISTS (SELECT 1 FROM cursor WHERE cursor.job = job.sequence) THEN 1 ELSE 0 END AS has_begun
        FROM job WHERE \(JobTable.isMember(of: message.number)) AND sequence > \(position) ORDER BY sequence
        """
    }

    var statements: [SQLStatement] { [self.devices, CampaignTable.highest] + self.services.statements }

    /// A few of each send, one behind the other: one more than a small one has, and no more than are read for a step.
    private var devices: SQLStatement {
        let most: SQLStatement = "\(SmallSend.maximumDevices + 1)"
        let names = SQLArray.texts(self.members.map { $0.tag?.owner == nil ? $0.tag?.key : nil })
        let users = SQLArray.texts(self.members.map { $0.tag?.owner?.text })
        let lists = SQLArray.integers(self.members.map { $0.audience == .list ? $0.sequence : nil })
        return """
            SELECT \(raw: DeviceList.columns), string_agg(int8send(device.place), ''::bytea) AS places,
                string_agg(int8send(device.pns), ''::bytea) AS services
            FROM (SELECT * FROM (
                SELECT given.place, found.* FROM unnest(\(names), \(users), \(lists)) WITH ORDINALITY AS given(name, owner, list, place)
                CROSS JOIN LATERAL (
                    (SELECT part.pns, part."row", registration.handle, registration.credential, registration.template FROM (
                        SELECT pns, "row" FROM tagged
                        WHERE tag = (SELECT number FROM tag_name WHERE app = \(self.app) AND name = given.name)
                            AND \(raw: RegistrationSlot.isNative)
                        ORDER BY pns, "row" LIMIT \(most)) AS part JOIN registration ON registration."row" = part."row")
                    UNION ALL (SELECT pns, "row", handle, credential, template FROM registration
                        WHERE app = \(self.app) AND "user" = given.owner AND \(raw: KeptRegistration.live)
                            AND \(raw: RegistrationSlot.isNative)
                        ORDER BY pns, "row" LIMIT \(most))
                    UNION ALL (SELECT t.pns, \(raw: ListedDevice.address), r.template FROM \(raw: ListedDevice.source)
                        WHERE t.job = given.list AND \(raw: ListedDevice.isThere) ORDER BY t.pns, t.number LIMIT \(most))
                ) AS found LIMIT \(Self.mostRows)) AS read ORDER BY place, pns, "row") AS device
            """
    }

    private static let mostRows = SmallSendReading.maximumDevices + SmallSend.maximumDevices + 1

    // MARK: Answers

    /// The sends that one step can write.
    ///
    /// - Parameters:
    ///   - answers: What ``statements`` give.
    ///   - page: The devices of the first.
    /// - Returns: The sends, and the credit of the services that they go to.
    /// - Throws: ``StoreError``.
    func sends(_ answers: [[SQLRow]], _ page: AudiencePage) throws -> ([SmallSend], [PushService: Credit]) {
        let places = try ByteList.numbers(answers[0].first?["places"])
        let services = try ByteList.numbers(answers[0].first?["services"])
        let through: Int64 = try answers[1].first?["last"] ?? 0
        let loads = try self.services.loads(Array(answers[2...]))
        var (reading, next) = (SmallSendReading(), 0)
        for (index, member) in self.members.enumerated() {
            let first = next
            while next < places.count, places[next] == Int64(index + 1) { next += 1 }
            // Of the last of so many not all may be there, nor anything of those behind it.
            if next == places.count, places.count == Self.mostRows { break }
            var audience = SmallSend.Audience.large
            if member.audience != .large, next - first <= SmallSend.maximumDevices {
                audience = .all(try Self.reaches(page, first..<next, services, member.request.platforms))
            }
            let goesOn = reading.add(try member.send(audience, through: through)) { pns in
                self.flow.credit(for: .first, self.priority, at: loads.load(of: self.app, at: pns, self.priority))
            }
            guard goesOn else { break }
        }
        return (reading.sends, reading.credit)
    }

    /// The devices of a range, which come service by service.
    private static func reaches(
        _ page: AudiencePage,
        _ range: Range<Int>,
        _ services: [Int64],
        _ platforms: [PushService]
    ) throws -> [SmallSend.Reach] {
        var (reaches, first) = ([SmallSend.Reach](), range.lowerBound)
        while first < range.upperBound {
            var end = first
            while end < range.upperBound, services[end] == services[first] { end += 1 }
            var reach = SmallSend.Reach(pns: try PushService(stored: Int(services[first])))
            reach.devices.rows = Array(page.rows[first..<end])
            reach.devices.handles = page.handles[first..<end]
            reach.devices.credentials = page.credentials[first..<end]
            if platforms.isEmpty || platforms.contains(reach.pns) { reaches.append(reach) }
            first = end
        }
        return reaches
    }
}
