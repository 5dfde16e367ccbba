package import PushModel
import Store
import StoreKit

/// Which credentials the devices of a message of retries have.
///
/// That matters where an app has several at a service, and a rate limit for one of them: only then it is looked up, a message at a time.
package enum RetriedDevices {
    /// The later attempts that a message has.
    package static func batches(of message: MessageID) -> SQLStatement {
        "SELECT job, retries FROM batch WHERE message = \(message.number) AND open = 1 AND retries IS NOT NULL"
    }

    /// The credentials of the devices of a row of ``batches(of:)``, but for the default one.
    ///
    /// A place in a list is not a registration's row, and in a list only handles have a credential.
    package static func credentials(of batch: SQLRow, at pns: PushService) throws -> SQLStatement {
        let devices = try RetryList.decode(batch["retries"]).map(\.row)
        return """
            SELECT credential.name FROM (
                SELECT credential AS number FROM registration WHERE "row" IN (\(numbers: devices))
                UNION ALL SELECT credential FROM recipient
                WHERE job = \(try batch["job"] as Int64) AND pns = \(pns.number) AND number IN (\(numbers: devices))
            ) AS device JOIN credential ON credential.number = device.number
            """
    }

    /// How many devices have each, by what ``credentials(of:at:)`` gives of all batches.
    package static func counts(_ answers: [[SQLRow]]) throws -> [CredentialName: Int] {
        try answers.joined().reduce(into: [:]) { $0[try CredentialName(stored: $1["name"]), default: 0] += 1 }
    }
}
