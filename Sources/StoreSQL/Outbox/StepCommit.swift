package import PushModel
package import Store
import StoreKit

/// A step of a fan-out on its way into the store.
package protocol StepCommit: Sendable {
    /// What it is decided by. Not of one snapshot: each is guarded, and numbers are taken.
    var reads: [SQLStatement] { get }

    /// Decides what is written.
    ///
    /// - Parameter answers: What ``reads`` give.
    /// - Returns: What is written, and what comes of it.
    /// - Throws: ``StoreError``.
    func decide(_ answers: [[SQLRow]]) throws -> SQLDecision<Ended<FanOutResult>>
}

/// How an engine writes new rows that come many at a time.
package protocol StepRows: SendableMetatype {
    /// Takes so many numbers of new messages, each a row with the column `number`.
    static func numbers(_ count: Int) -> SQLStatement

    /// Inserts messages under their numbers.
    static func messages(_ messages: [(number: Int64, message: NewMessage)]) -> [SQLStatement]

    static func batches(_ batches: [NewBatch]) -> [SQLStatement]

    static func cursors(_ cursors: [NewCursor]) -> [SQLStatement]
}

/// The first attempt of a batch that is to be written.
package struct NewBatch: Sendable {
    private let job: Int64
    private let pns: PushService
    private let page: FanOutPage
    private let message: Int64

    package init(_ page: FanOutPage, of job: Int64, at pns: PushService, in message: Int64) {
        (self.job, self.pns, self.page, self.message) = (job, pns, page, message)
    }

    package static let columns = "job, pns, page, from_id, to_id, size, message, template"

    /// In the order of ``columns``.
    package var values: [Int64?] {
        [
            self.job, Int64(self.pns.number), Int64(self.page.page), self.page.from, self.page.to,
            Int64(self.page.size), self.message, self.page.template,
        ]
    }
}

/// A cursor that is to be written, with the devices that it has come to.
package struct NewCursor: Sendable {
    private let job: Int64
    private let cursor: AudienceCursor
    private let devices: Int

    package init(_ cursor: AudienceCursor, of job: Int64, devices: Int = 0) {
        (self.job, self.cursor, self.devices) = (job, cursor, devices)
    }

    package static let columns = "job, pns, after, through, next_page, done, devices"

    /// In the order of ``columns``.
    package var values: [Int64] {
        [
            self.job, Int64(self.cursor.pns.number), self.cursor.after, self.cursor.through,
            Int64(self.cursor.nextPage), self.cursor.isDone ? 1 : 0, Int64(self.devices),
        ]
    }
}
