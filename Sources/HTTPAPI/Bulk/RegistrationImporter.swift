import Hummingbird
import NIOConcurrencyHelpers
import NIOCore
import PushModel
import Store
import WebServing

/// Reads registrations line by line and writes them in groups while the next lines arrive.
struct RegistrationImporter: Sendable {
    /// The most bytes of a line: a thousand tags and a handle, all of it escaped, and some blanks.
    static let lineLimit = 768 << 10

    let store: any RegistrationStore
    let limits: ServingLimits
    let app: AppID
    let spec: AppSpec

    /// - Returns: The results of all lines.
    /// - Throws: ``PartlyDone`` when the body broke off or came too slowly, or the store failed. Lines reported as done
    ///   are stored.
    func take(_ body: RequestBody) async throws -> ImportReport {
        let report = NIOLockedValueBox(ImportReport())
        let timeout = ProgressTimeout(self.limits)
        do {
            let sequence = try await self.write([], sequence: nil).sequence
            try await timeout.run { try await self.read(body, sequence: sequence, timeout: timeout, report: report) }
        } catch {
            throw PartlyDone(cause: self.cause(error), done: report.withLockedValue { $0.text })
        }
        return report.withLockedValue { $0 }
    }

    private func read(
        _ body: RequestBody,
        sequence: Int64,
        timeout: ProgressTimeout,
        report: NIOLockedValueBox<ImportReport>
    ) async throws {
        let reader = ImportLine(spec: self.spec)
        try await withThrowingTaskGroup(of: Void.self) { writes in
            var splitter = LineSplitter(limit: Self.lineLimit)
            var group = ImportGroup(after: 0)
            // One group is written while the next is read: the client is held up when both are full.
            func write() async throws {
                try await writes.next()
                let full = group
                group = ImportGroup(after: full.end)
                writes.addTask {
                    let results =
                        full.rows.isEmpty ? [] : try await self.write(full.rows, sequence: sequence).results
                    report.withLockedValue { $0.add(full, results: results) }
                }
            }
            var pieces = body.makeAsyncIterator()
            while let piece = try await Self.next(&pieces, timeout: timeout) {
                splitter.split(piece) { group.add($0, limit: Self.lineLimit, reader: reader) }
                if group.isFull { try await write() }
                // A piece may have hundreds of lines, and others wait for the thread.
                await Task.yield()
            }
            // A cancelled body ends as if it were whole.
            try Task.checkCancellation()
            if let last = splitter.last() { group.add(last, limit: Self.lineLimit, reader: reader) }
            try await write()
            try await writes.waitForAll()
        }
    }

    private static func next(
        _ pieces: inout RequestBody.AsyncIterator,
        timeout: ProgressTimeout
    ) async throws -> ByteBuffer? {
        do {
            return try await timeout.waiting({ $0?.readableBytes ?? 0 }) {
                try await pieces.next(isolation: #isolation)
            }
        } catch {
            try Task.checkCancellation()
            throw (error as? Problem) ?? BodyReader.brokenOff
        }
    }

    private func write(_ rows: [ImportedRegistration], sequence: Int64?) async throws -> ImportedRegistrations {
        let lifetime = self.spec.registrationLifetime
        return try await self.store.importRegistrations(rows, app: self.app, sequence: sequence, lifetime: lifetime)
    }

    private func cause(_ error: any Error) -> any Error {
        guard error is ProgressTimeout.Stalled else { return error }
        return Problem(.requestTimeout, ProgressTimeout.words(self.limits))
    }
}
