import PushModel
import Store
import StoreKit

/// Reads the sends of a message with their devices.
struct SmallSendReader {
    static let query = TagQuery(
        ofNumber: """
            SELECT t.pns, t.row, r.handle, r.credential FROM tagged AS t CROSS JOIN registration AS r ON r.row = t.row
            WHERE t.tag = ?1 AND t.\(RegistrationSlot.isNative) AND t.row <= ?3 ORDER BY t.pns, t.row LIMIT ?4
            """,
        ofUser: """
            SELECT pns, row, handle, credential FROM registration WHERE user = ?1 AND app = ?2 AND \(KeptRegistration.live)
            AND \(RegistrationSlot.isNative) AND row <= ?3 ORDER BY pns, row LIMIT ?4
            """
    )

    /// The members of a message between two jobs.
    static let members = """
        SELECT sequence, id, CAST(work AS BLOB) AS work, accepted, expires, starts_at, waiter, request FROM job
        WHERE sequence BETWEEN ? AND ? AND message = ? ORDER BY sequence
        """

    private let database: Database
    private let message: OutboxMessage
    private let credit: (PushService) throws -> Credit
    private let through: Int64
    private let tags: TagFinder
    private let devices: PreparedTagQuery
    private let recipients: PreparedStatement

    init(
        database: Database,
        message: OutboxMessage,
        app: Int64,
        credit: @escaping (PushService) throws -> Credit
    ) throws {
        self.database = database
        self.message = message
        self.credit = credit
        self.tags = try TagFinder(database, app: app)
        self.through = try database.highestRegistration()
        self.devices = try PreparedTagQuery(Self.query, in: database)
        self.recipients = try PreparedStatement(RecipientTable.all, in: database)
    }

    /// Reads as many as one step can write.
    func sends(
        from first: Int64,
        through last: Int64
    ) throws -> (sends: [SmallSend], credit: [PushService: Credit]) {
        var reading = SmallSendReading()
        try self.database.read(Self.members, [first, last, self.message.id.number]) { row in
            try reading.add(self.send(row), credit: self.credit)
        }
        return (reading.sends, reading.credit)
    }

    private func send(_ row: Row) throws -> SmallSend {
        guard case .send(let request) = try StoredJSON.work(from: row["work"]) else {
            throw StoreError(.corrupt, "a send message holds another job")
        }
        let sequence: Int64 = row["sequence"]
        return SmallSend(
            sequence: sequence,
            id: try JobID(blob: row["id"]),
            request: request,
            accepted: row["accepted"],
            expires: row["expires"],
            startsAt: row["starts_at"],
            waiter: row["waiter"],
            requestID: (row["request"] as String?).flatMap { RequestID(stored: $0) },
            audience: try self.audience(of: request, job: sequence),
            through: request.audience.expression == nil ? .max : self.through
        )
    }

    private func audience(of request: SendRequest, job: Int64) throws -> SmallSend.Audience {
        switch SmallAudience(request) {
        case .large: return .large
        case .list:
            self.recipients.reset()
            try self.recipients.bind(job, at: 1)
            defer { self.recipients.reset() }
            return try self.audience(read: self.recipients, platforms: request.platforms)
        case .tag(let only):
            guard let tag = try self.tags.find(only) else { return .all([]) }
            let devices = try self.devices.start(tag, self.through, Int64(SmallSend.maximumDevices + 1))
            defer { devices.reset() }
            return try self.audience(read: devices, platforms: request.platforms)
        }
    }

    /// The devices of a statement, which come service by service.
    private func audience(read devices: PreparedStatement, platforms: [PushService]) throws -> SmallSend.Audience {
        var reaches: [SmallSend.Reach] = []
        let service = devices.column("pns")
        var columns = DeviceColumns(devices, in: self.database)
        var count = 0
        while try devices.step() {
            count += 1
            if count > SmallSend.maximumDevices { return .large }
            let pns = try PushService(stored: Int(devices.integer(service)))
            guard platforms.isEmpty || platforms.contains(pns) else { continue }
            if reaches.last?.pns != pns { reaches.append(SmallSend.Reach(pns: pns)) }
            try columns.append(to: &reaches[reaches.count - 1].devices)
        }
        return .all(reaches)
    }
}
