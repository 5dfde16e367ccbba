package import PushModel
import Store

/// A job as the table `job` has it, and what is shown of it: its state, what it waits for, and how far it is.
package struct JobRow: Sendable {
    /// The job without what is read beside its row.
    package let plain: Job
    package let isFannedOut: Bool
    package let waiter: String?
    /// The message that stands for it, or its only batch's.
    package let message: Int64?

    package init(plain: Job, isFannedOut: Bool, waiter: String?, message: Int64?) {
        self.plain = plain
        self.isFannedOut = isFannedOut
        self.waiter = waiter
        self.message = message
    }

    package var work: Job.Work { self.plain.work }
    package var state: Job.State { self.plain.state }

    /// The job for display.
    ///
    /// - Parameters:
    ///   - source: Reads what else there is of it.
    ///   - clock: Converts the time of the next retry.
    /// - Returns: The job with its counts; its state is retrying if all its open work waits.
    /// - Throws: What the source does.
    package func job(reading source: some JobSource, clock: StoreClock) throws -> Job {
        let waiting = try self.waiting(reading: source)
        let paused = try self.pause(reading: source)
        let reason = try self.waitReason(paused: paused, waiting: waiting?.reason, reading: source)
        var job = self.plain
        if let waiting {
            job.state = .retrying
            if paused == nil { job.due = clock.wall(at: waiting.due) }
        }
        if self.state == .scheduled { job.due = job.startsAt }
        job.reason = job.reason ?? reason?.text
        job.cause = reason?.cause
        job.progress = try self.progress(reading: source)
        guard case .send(let send) = self.work else { return job }
        job.counts = try source.counts()
        if send.content.kind == .template { job.platformCounts = try source.platformCounts() }
        return job
    }

    /// What a job waits for, where all that is open of it waits for a later try.
    private func waiting(reading source: some JobSource) throws -> JobWaiting? {
        switch (self.state, self.work.kind) {
        case (.queued, .register): try source.deferral()
        case (.running, .send) where self.isFannedOut: try source.isInFlight() ? nil : source.firstWaiting()
        default: nil
        }
    }

    /// What it waits for, where it does: a pause comes before all else.
    private func waitReason(
        paused: WorkQueue?,
        waiting: WaitReason?,
        reading source: some JobSource
    ) throws -> WaitReason? {
        if self.plain.reason != nil { return nil }
        if let reason = paused.map(Pause.reason) ?? waiting { return reason }
        // Some of its batches wait that workers have deferred, while others may be in flight.
        return self.state == .running && self.work.kind == .send ? try source.reasonOfDeferred() : nil
    }

    /// The paused queue that keeps some of it waiting, if one does.
    private func pause(reading source: some JobSource) throws -> WorkQueue? {
        guard self.state == .queued || self.state == .running else { return nil }
        return try source.pausedQueues().first { queue in
            switch queue {
            case .register: self.work.kind == .register
            case .send: self.work.kind == .send && !self.isFannedOut
            case .deliver(let pns): try source.isOpen(at: pns)
            }
        }
    }

    /// Estimates the size of the audience, assuming that devices are spread evenly over row numbers.
    private func progress(reading source: some JobSource) throws -> Job.Progress? {
        guard self.state == .running || self.state.isStopped, case .send(let send) = self.work else { return nil }
        let cursors = try source.cursors()
        guard !cursors.isEmpty else { return nil }
        // A list is not spread over row numbers, and soon in batches.
        let isSpread = send.audience.expression != nil
        return Job.Progress(
            cursors.mapValues { cursor in
                var estimate: Int?
                // A stop ends the fan-out too.
                if cursor.isDone || (self.isFannedOut && !self.state.isStopped) {
                    estimate = cursor.devices
                } else if isSpread, cursor.after > 0 {
                    estimate = Int(
                        clamping: (Double(cursor.devices) * Double(cursor.through) / Double(cursor.after)).rounded()
                    )
                }
                return Job.Progress.Service(devices: cursor.devices, estimate: estimate)
            }
        )
    }
}
