package import PushModel

/// Accepted jobs and their outcomes.
package protocol JobStore: ConfirmsReads {
    /// Jobs in their present state: a page of a list, newest first, or those of some ids, in the order of these.
    ///
    /// - Throws: ``StoreError``.
    func jobs(_ selection: JobSelection) async throws -> Page<Job>

    /// The devices that a job lists one by one, in the order of recording.
    func deliveries(_ query: DeliveryQuery) async throws -> Page<DeliveryRecord>

    /// The register jobs of a message that are not finished, in the order of their acceptance.
    func registerJobs(of message: MessageID) async throws -> [Job]

    /// Ends a register job.
    ///
    /// - Returns: The routing key of the process that waits for it, if one does; nil also when it was ended before.
    func finishRegister(_ id: JobID, result: RegisterResult) async throws -> String?

    /// Stops a job that runs (rule 13).
    ///
    /// - Returns: The job as it is then, or nil when there is none; a final job is returned unchanged.
    func cancel(_ id: JobID, app: AppID) async throws -> Job?
}

extension JobStore {
    /// Jobs, newest first.
    package func jobs(_ query: JobQuery) async throws -> Page<Job> { try await self.jobs(.list(query)) }

    /// A few jobs of any app, for a process that waits for them; unknown ones are missing.
    package func jobs(_ ids: [JobID]) async throws -> [Job] { try await self.jobs(.ids(ids, app: nil)).items }

    /// The job in its present state, or nil when the app has none of that id.
    package func job(_ id: JobID, app: AppID) async throws -> Job? {
        try await self.jobs(.ids([id], app: app)).items.first
    }
}
