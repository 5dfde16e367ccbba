package import PushModel
package import Store
import StoreKit

/// What a campaign is read from, and how far its audience is in batches: the table `cursor`.
package enum CampaignTable {
    /// Reads a campaign, for ``campaign(_:)``.
    package static func reads(of job: Int64) -> [SQLStatement] {
        let cursors: SQLStatement = """
            SELECT pns, after, through, next_page, done FROM cursor WHERE job = \(job) ORDER BY pns
            """
        return [JobTable.rows("job.sequence = \(job)"), cursors, self.highest, self.ends(of: [job])]
    }

    /// A campaign by what ``reads(of:)`` gives; nil if its job is gone.
    ///
    /// - Throws: ``StoreError``.
    package static func campaign(_ answers: [[SQLRow]]) throws -> Campaign? {
        guard let row = try answers[0].first.map({ try JobRow($0) }), case .send(let request) = row.work else {
            return nil
        }
        var cursors = try answers[1].map { try AudienceCursor($0) }
        // The first commit writes them: until then nothing depends on them.
        if cursors.isEmpty {
            let ends = (highest: answers[2], ofLists: answers[3])
            cursors = try self.newCursors(for: request, of: row.plain.sequence, ends)
        }
        return Campaign(job: row.plain, request: request, waiter: row.waiter, cursors: cursors)
    }

    /// The highest registration that there is.
    package static let highest: SQLStatement = "SELECT coalesce(max(\"row\"), 0) AS last FROM registration"

    /// Where the lists of jobs end at each service.
    package static func ends(of jobs: [Int64]) -> SQLStatement {
        let services = PushService.allCases.map { Int64($0.number) }
        return """
            SELECT listed.value AS job, service.value AS pns, coalesce(
                (SELECT max(number) FROM recipient WHERE job = listed.value AND pns = service.value), 0) AS last
            FROM (\(numbers: jobs)) AS listed CROSS JOIN (\(numbers: services)) AS service
            """
    }

    /// A cursor for each service that a send goes to, up to the highest registration there is now, or the end of its list.
    ///
    /// - Parameters:
    ///   - request: The send.
    ///   - job: Its number.
    ///   - ends: The rows of ``highest``, and of ``ends(of:)``.
    /// - Returns: The cursors.
    /// - Throws: ``StoreError``.
    package static func newCursors(
        for request: SendRequest,
        of job: Int64,
        _ ends: (highest: [SQLRow], ofLists: [SQLRow])
    ) throws -> [AudienceCursor] {
        var last: [PushService: Int64] = [:]
        for row in ends.ofLists where try (row["job"] as Int64) == job {
            last[try PushService(stored: row["pns"])] = try row["last"]
        }
        let highest: Int64? = request.audience.expression == nil ? nil : try ends.highest.first?["last"]
        let services =
            request.platforms.isEmpty ? PushService.allCases : PushService.allCases.filter(request.platforms.contains)
        return services.map { pns in
            AudienceCursor(pns: pns, after: 0, through: highest ?? last[pns] ?? 0, nextPage: 0, isDone: false)
        }
    }

    /// Moves the cursor of a step.
    package static func move(of job: Int64, to cursor: AudienceCursor, devices: Int) -> SQLStatement {
        """
        UPDATE cursor SET after = \(cursor.after), next_page = \(cursor.nextPage), done = \(cursor.isDone),
            devices = devices + \(devices)
        WHERE job = \(job) AND pns = \(cursor.pns.number)
        """
    }
}

extension AudienceCursor {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            pns: try PushService(stored: row["pns"]),
            after: try row["after"],
            through: try row["through"],
            nextPage: try row["next_page"],
            isDone: try row["done"]
        )
    }
}
