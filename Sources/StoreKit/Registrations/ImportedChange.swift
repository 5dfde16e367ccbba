package import PushModel
package import Store

extension ImportedRegistration {
    /// Its row as any single change of a registration, under that id.
    package func request(_ id: RegistrationID) -> RegisterRequest {
        .upsert(
            id,
            .init(
                pns: self.pns,
                handle: self.handle,
                credential: self.credential,
                tags: self.tags,
                template: self.template,
                expires: self.expires,
                written: self.written
            )
        )
    }

    /// The same with a time at which it expires where it has none of its own.
    package func expiring(at time: Timestamp?) -> ImportedRegistration {
        var row = self
        row.expires = row.expires ?? time
        return row
    }
}

extension ImportResult {
    /// What came of a row that was written as a single change.
    ///
    /// - Parameters:
    ///   - made: The change's result.
    ///   - done: What to report where it was made.
    package init(_ made: RegisterResult, done: ImportResult) {
        switch made {
        case .done: self = done
        case .refused(let reason): self = .refused(reason)
        case .gone: self = .gone
        case .superseded, .issued, .notFound, .channels, .unknown: self = .superseded
        }
    }
}
