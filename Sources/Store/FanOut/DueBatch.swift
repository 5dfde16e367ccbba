package import PushModel

/// A batch that is published again.
package struct DueBatch: Sendable {
    package let key: BatchKey
    package let job: Job
    /// As of ``Campaign/request``.
    package let request: SendRequest
    /// For attempt 0: exactly the audience's rows in `(from, to]`.
    package let from: Int64
    package let to: Int64
    /// For later attempts: the devices still to do; their waits count from now.
    package let retries: [RetryDevice]
    /// The number of the template that it is for; nil = of none.
    package let template: Int64?
    /// That template; nil if it was removed, too.
    package let content: DeviceTemplate.Content?

    package init(
        key: BatchKey,
        job: Job,
        request: SendRequest,
        from: Int64,
        to: Int64,
        retries: [RetryDevice],
        template: Int64? = nil,
        content: DeviceTemplate.Content? = nil
    ) {
        self.key = key
        self.job = job
        self.request = request
        self.from = from
        self.to = to
        self.retries = retries
        self.template = template
        self.content = content
    }
}
