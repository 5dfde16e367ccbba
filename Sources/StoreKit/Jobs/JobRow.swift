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

    /// What else is to be read to show it.
    package var needs: [JobDetail] {
        guard case .send(let send) = self.work else { return self.state == .queued ? [.waiting, .paused] : [] }
        var needs: [JobDetail] = send.content.kind == .template ? [.counts, .platformCounts] : [.counts]
        switch self.state {
        case .queued: needs += [.paused, .openServices]
        case .running:
            // Some of its batches may wait that workers have deferred, while others are in flight.
            needs += [.cursors, .deferral, .paused, .openServices]
            if self.isFannedOut { needs.append(.waiting) }
        case .cancelling, .expiring, .cancelled, .expired: needs.append(.cursors)
        case .scheduled, .retrying, .completed, .abandoned: break
        }
        return needs
    }

    /// The job for display.
    ///
    /// - Parameters:
    ///   - details: What ``needs`` asks for.
    ///   - clock: Converts the time of the next retry.
    /// - Returns: The job with its counts; its state is retrying if all its open work waits.
    package func job(with details: JobDetails, clock: StoreClock) -> Job {
        let paused = self.pause(details)
        var job = self.plain
        if let waiting = details.waiting {
            job.state = .retrying
            if paused == nil { job.due = clock.wall(at: waiting.due) }
        }
        if self.state == .scheduled { job.due = job.startsAt }
        if job.reason == nil {
            // A pause comes before all else.
            let reason = paused.map(Pause.reason) ?? details.waiting?.reason ?? details.deferral
            job.reason = reason?.text
            job.cause = reason?.cause
        }
        job.progress = self.progress(details.cursors)
        job.counts = details.counts
        job.platformCounts = details.platformCounts
        return job
    }

    /// The paused queue that keeps some of it waiting, if one does.
    private func pause(_ details: JobDetails) -> WorkQueue? {
        details.paused.first { queue in
            switch queue {
            case .register: self.work.kind == .register
            case .send: self.work.kind == .send && !self.isFannedOut
            case .deliver(let pns): details.openServices.contains(pns)
            }
        }
    }

    /// Estimates the size of the audience, assuming that devices are spread evenly over row numbers.
    private func progress(_ cursors: [PushService: FanOutCursor]) -> Job.Progress? {
        guard !cursors.isEmpty, case .send(let send) = self.work else { return nil }
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
