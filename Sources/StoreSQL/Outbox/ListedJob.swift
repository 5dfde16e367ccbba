package import PushModel
package import Store
import StoreKit

/// A job with its list as it is stored: the devices that are there, at the services that the send is for.
package struct ListedJob: Sendable {
    package let job: NewJob
    package let recipients: [Recipient]

    private init(_ job: NewJob) { (self.job, self.recipients) = (job, []) }

    private init(_ job: NewJob, _ devices: [Recipient]) throws {
        guard case .send(let send) = job.work, send.audience.expression == nil else {
            throw StoreError(.corrupt, "a list of devices for another job than a send to them")
        }
        guard case .list(let list) = send.audience else {
            (self.job, self.recipients) = (job, devices)
            return
        }
        self.recipients = send.platforms.isEmpty ? devices : devices.filter { send.platforms.contains($0.pns) }
        let count = RecipientCount(
            kind: list.kind,
            given: list.given,
            count: self.recipients.count,
            isAtHub: list.isAtHub
        )
        self.job = job.with(work: .send(send.with(audience: .list(count))))
    }

    /// Finds live registrations by their ids, each by itself; one for a template is not a device, which is not to choose an index here.
    static func devices(_ ids: [String], app: AppID) -> SQLStatement {
        """
        SELECT "row", pns FROM registration
        WHERE "row" IN (
            SELECT (SELECT "row" FROM registration WHERE app = \(SQLStatement.app(app)) AND id = asked.value)
            FROM (\(texts: ids)) AS asked)
            AND \(raw: KeptRegistration.live) AND +\(raw: RegistrationSlot.isNative)
        """
    }

    /// The app of jobs that are accepted together; nil = there are none.
    ///
    /// - Throws: ``StoreError`` for jobs of several apps, or for too many.
    package static func app(of jobs: [ListedJob]) throws -> AppID? {
        guard let app = jobs.first?.job.app else { return nil }
        guard jobs.count <= OutboxMessage.maximumMembers, jobs.allSatisfy({ $0.job.app == app }) else {
            throw StoreError(.corrupt, "jobs that cannot be accepted together")
        }
        return app
    }

    /// New jobs with their lists.
    package static func of(_ jobs: [NewJob], in engine: some SQLEngine) async throws -> [ListedJob] {
        var listed: [ListedJob] = []
        listed.reserveCapacity(jobs.count)
        for job in jobs {
            switch job.recipients?.devices {
            case nil: listed.append(ListedJob(job))
            case .handles(let handles): listed.append(try ListedJob(job, handles))
            case .registrations(let ids):
                var devices: [Recipient] = []
                for start in stride(from: 0, to: ids.count, by: 1000) {
                    let some = ids[start..<min(start + 1000, ids.count)].map(\.text)
                    devices += try await engine.rows(Self.devices(some, app: job.app)).map {
                        Recipient(row: try $0["row"], pns: try PushService(stored: $0["pns"]))
                    }
                }
                listed.append(try ListedJob(job, devices))
            }
        }
        return listed
    }
}
