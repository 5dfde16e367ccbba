public import Foundation

extension PushlineClient {
    /// Creates and updates registrations from NDJSON, for operators.
    ///
    /// A line is an object with `service` and `handle` and optionally `id`, `user`, `tags` and `expires`. The text is sent
    /// in consecutive requests of whole lines, so that memory stays bounded. A request refused by a busy server is
    /// repeated a few times.
    ///
    /// - Parameters:
    ///   - skipped: The number of lines at the beginning to skip as already done; line numbers include them.
    ///   - next: Returns the next piece of the text, cut anywhere; nil at the end.
    ///   - progress: Receives the results so far, after each request.
    /// - Returns: The results of all lines.
    /// - Throws: ``ImportInterrupted``; the error of `next`; `CancellationError`.
    public func importRegistrations(
        skipping skipped: Int = 0,
        from next: () async throws -> Data?,
        progress: (ImportSummary) async throws -> Void = { _ in }
    ) async throws -> ImportSummary {
        var done = ImportSummary(lines: skipped)
        var skip = LineSkip(lines: skipped)
        var pieces = LinePieces()
        while let text = try await next() {
            try await pieces.add(skip.rest(of: text)) { piece in
                try await self.importPiece(piece, after: &done)
                try await progress(done)
            }
        }
        if !pieces.piece.isEmpty {
            try await self.importPiece(pieces.piece, after: &done)
            try await progress(done)
        }
        return done
    }

    private func importPiece(_ piece: Data, after done: inout ImportSummary) async throws {
        let call = Call(
            method: "POST",
            path: ["registrations", "import"],
            headers: ["Content-Type": "application/x-ndjson"],
            body: piece
        )
        var tries = 1
        while true {
            do {
                done.add(try await self.value(call))
                return
            } catch let error as PushlineError {
                let mayPass = error.code == .unavailable || error.code == .tooManyRequests
                guard mayPass, tries < 5 else { throw ImportInterrupted(done: done, cause: error) }
                tries += 1
                try await Task.sleep(for: .seconds(min(30, error.retryAfter ?? 1)))
            }
        }
    }

    /// Streams the app's live registrations with their whole addresses, for operators.
    ///
    /// - Parameters:
    ///   - user: Only registrations of that user.
    ///   - tag: Only registrations with that tag.
    ///   - service: Only registrations of that push service.
    ///   - piece: Receives the next piece.
    /// - Throws: ``PushlineError``, and the error of `piece`.
    public func exportRegistrations(
        user: String? = nil,
        tag: String? = nil,
        service: PushNotification.Service? = nil,
        _ piece: (ExportPiece) async throws -> Void
    ) async throws {
        var cursor: String?
        repeat {
            let call = Call(
                method: "GET",
                path: ["registrations", "export"],
                query: [
                    ("user", user), ("tag", tag), ("service", service?.rawValue), ("limit", "10000"),
                    ("cursor", cursor),
                ]
            )
            let answer = try await self.answer(call)
            cursor = answer.headers["pushline-cursor"]
            try await piece(ExportPiece(lines: answer.body, cursor: cursor))
        } while cursor != nil
    }
}

/// Leaves out the first lines of a text.
struct LineSkip {
    var lines: Int

    mutating func rest(of text: Data) -> Data {
        var rest = text[...]
        while self.lines > 0, let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            self.lines -= 1
            rest = rest[(end + 1)...]
        }
        return self.lines > 0 ? Data() : Data(rest)
    }
}
