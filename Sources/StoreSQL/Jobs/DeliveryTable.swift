package import PushModel
package import Store
import StoreKit

/// The table `delivery`: single devices and the result of each.
package enum DeliveryTable {
    /// Lists devices that were accepted.
    package static func accepted(_ rows: [Int64], of job: Int64, _ pns: Int, at time: Timestamp) -> SQLStatement {
        self.insertion(rows, DeliveryResult(kind: .accepted, status: 0, reason: ""), of: job, pns, at: time)
    }

    /// Lists devices that failed, neighbours that failed alike in one statement.
    package static func failures(
        _ failures: [DeviceFailure],
        of job: Int64,
        _ pns: Int,
        at time: Timestamp
    ) -> [SQLStatement] {
        var statements: [SQLStatement] = []
        var rest = failures[...]
        while let result = rest.first.map(DeliveryResult.init) {
            let alike = rest.prefix { DeliveryResult($0) == result }
            statements.append(self.insertion(alike.map(\.row), result, of: job, pns, at: time))
            rest = rest.dropFirst(alike.count)
        }
        return statements
    }

    /// Lists all devices of some outcomes in one statement, which PostgreSQL alone reads; nil = there are none to list.
    package static func devices(of outcomes: [(outcome: BatchOutcome, job: Int64)]) -> SQLStatement? {
        let devices = outcomes.flatMap { outcome, job in
            let accepted = DeliveryResult(kind: .accepted, status: 0, reason: "")
            return
                (outcome.acceptedRows.map { ($0, accepted) } + outcome.failures.map { ($0.row, DeliveryResult($0)) })
                .map { (job: job, pns: outcome.key.pns.number, row: $0, result: $1, at: outcome.at.milliseconds) }
        }
        guard !devices.isEmpty else { return nil }
        return """
            INSERT INTO delivery(job, pns, "row", class, status, reason, at, reference)
            SELECT device.*, recipient.reference
            FROM unnest(\(SQLArray.integers(devices.map(\.job))), \(SQLArray.integers(devices.map { Int64($0.pns) })),
                \(SQLArray.integers(devices.map(\.row))), \(SQLArray.integers(devices.map { Int64($0.result.kind.number) })),
                \(SQLArray.integers(devices.map { Int64($0.result.status) })), \(SQLArray.texts(devices.map(\.result.reason))),
                \(SQLArray.integers(devices.map(\.at)))) AS device(job, pns, number, class, status, reason, at)
                LEFT JOIN recipient ON recipient.job = device.job AND recipient.pns = device.pns AND recipient.number = device.number
            """
    }

    private static func insertion(
        _ rows: [Int64],
        _ result: DeliveryResult,
        of job: Int64,
        _ pns: Int,
        at time: Timestamp
    ) -> SQLStatement {
        """
        INSERT INTO delivery(job, pns, "row", class, status, reason, at, reference)
        SELECT \(job), \(pns), value, \(result.kind.number), \(result.status), \(result.reason), \(time), (
            SELECT reference FROM recipient WHERE job = \(job) AND pns = \(pns) AND number = value
        ) FROM (\(numbers: rows)) AS device
        """
    }
}

/// What devices have in common that are listed together.
private struct DeliveryResult: Equatable {
    let kind: DeliveryCountClass
    let status: Int
    let reason: String
}

extension DeliveryResult {
    fileprivate init(_ failure: DeviceFailure) {
        self.init(kind: .failed(failure.failure), status: failure.status, reason: String(failure.reason.prefix(200)))
    }
}
