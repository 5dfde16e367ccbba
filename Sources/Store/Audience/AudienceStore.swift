import PushModel

/// Reads the audiences of sends.
package protocol AudienceStore: Sendable {
    /// The devices of a piece of an audience, in row order, and where they are reached now.
    ///
    /// A page may end before its limit and before `through`, even without a row: a sparse audience in a wide range is
    /// read in pages of bounded cost. ``AudiencePage/scannedThrough`` is the end of a page, even if it has fewer rows
    /// than `limit`; each call with `after < through` and `limit > 0` advances at least one row.
    ///
    /// Of a registration it has the present handle; one that is not live on that service is left out.
    ///
    /// - Throws: ``StoreError``.
    func audience(_ query: AudienceQuery) async throws -> AudiencePage

    /// How many devices are in a piece of an audience; in slices of bounded cost, as pages are.
    ///
    /// `through` may be beyond the last row there is.
    ///
    /// - Throws: ``StoreError``.
    func count(_ query: AudienceQuery) async throws -> AudienceCount
}

extension AudienceStore {
    /// Reads the whole piece of an audience, as a batch's page does whenever it is read again (rule 2).
    ///
    /// Registrations that joined since are included. It is read in pages.
    package func wholeAudience(_ query: AudienceQuery) async throws -> AudiencePage {
        var whole = AudiencePage(scannedThrough: query.after)
        var query = query
        query.limit = DeliverBatch.maximumDevices
        while whole.scannedThrough < query.through {
            query.after = whole.scannedThrough
            whole.append(try await self.audience(query))
        }
        return whole
    }
}
