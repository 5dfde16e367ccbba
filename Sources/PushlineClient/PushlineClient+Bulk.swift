public import Foundation

extension PushlineClient {
    /// Creates and updates registrations from NDJSON, for operators.
    ///
    /// A line is an object with `pns` and `handle` and, where wanted, `id`, `user`, `tags` and `expires`. The text is sent in
    /// requests of whole lines, one after the other, so that none of it is held for long; a request that the server cannot take
    /// just now is repeated a few times.
    ///
    /// - Parameters:
    ///   - skipped: So many lines at the beginning are left out, for they are done; line numbers count them.
    ///   - next: Gives the next piece of the text, cut anywhere; nil at the end.
    ///   - progress: Is told what is done, after each request.
    /// - Returns: What came of all lines.
    /// - Throws: ``ImportInterrupted``; what `next` throws; `CancellationError`.
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
                try await self.bring(piece, after: &done)
                try await progress(done)
            }
        }
        if !pieces.piece.isEmpty {
            try await self.bring(pieces.piece, after: &done)
            try await progress(done)
        }
        return done
    }

    private func bring(_ piece: Data, after done: inout ImportSummary) async throws {
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

    /// The app's live registrations with their whole addresses, piece by piece, for operators.
    ///
    /// - Parameters:
    ///   - user: Those of that user.
    ///   - tag: Those with that tag.
    ///   - platform: Those of that push service.
    ///   - piece: Takes the next piece.
    /// - Throws: ``PushlineError``, and what `piece` throws.
    public func exportRegistrations(
        user: String? = nil,
        tag: String? = nil,
        platform: Platform? = nil,
        _ piece: (ExportPiece) async throws -> Void
    ) async throws {
        var cursor: String?
        repeat {
            let call = Call(
                method: "GET",
                path: ["registrations", "export"],
                query: [
                    ("user", user), ("tag", tag), ("pns", platform?.rawValue), ("limit", "10000"), ("cursor", cursor),
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
