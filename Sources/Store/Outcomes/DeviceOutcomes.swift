package import PushModel

/// A device that failed for good.
package struct DeviceFailure: Sendable, Equatable {
    package let row: Int64
    package let failure: FailureClass
    /// The push service's status; 0 = it gave none.
    package let status: Int
    /// The push service's own word, shortened to 200 characters by the store.
    package let reason: String

    package init(row: Int64, failure: FailureClass, status: Int, reason: String) {
        self.row = row
        self.failure = failure
        self.status = status
        self.reason = reason
    }
}

/// A device that is to be tried again.
package struct RetryDevice: Sendable, Equatable {
    package let row: Int64
    /// How often it was tried.
    package let tries: Int
    /// How long until it may be tried.
    ///
    /// In an outcome: from now. In a ``DueBatch``: from the batch's due time.
    package let wait: Duration

    package init(row: Int64, tries: Int, wait: Duration) {
        self.row = row
        self.tries = tries
        self.wait = wait
    }
}

/// A handle that a push service called dead (rule 9).
package struct DeadHandle: Sendable, Equatable {
    package let row: Int64
    package let handle: Handle
    /// With which credential it was sent to: a service may know the handle by another one.
    package let credential: CredentialName
    /// Only a registration that was last updated before this is pruned: the push service's own moment, or that of sending.
    package let before: Timestamp
    /// The push service's word.
    package let reason: String

    package init(
        row: Int64,
        handle: Handle,
        credential: CredentialName = .default,
        before: Timestamp,
        reason: String
    ) {
        self.row = row
        self.handle = handle
        self.credential = credential
        self.before = before
        self.reason = reason
    }
}
