package import Store

/// What every driver says of rows that do not fit together.
extension StoreError {
    /// The rows that a transaction had read had changed each time that it was made.
    package static let contended = StoreError(.unavailable, "other writers kept changing the same rows")
    /// A row that is there has what only one may have.
    package static let taken = StoreError(.conflict, "another row has what only one may have")
    /// Too few numbers were taken for new messages.
    package static let tooFewNumbers = StoreError(.corrupt, "there are more messages than numbers for them")
    /// The table of the backlog is empty.
    package static let noBacklog = StoreError(.corrupt, "the count of unfinished jobs is missing")
    /// A device's credential is not in the table of them.
    package static let namelessCredential = StoreError(.corrupt, "a device's credential has no name")
}
