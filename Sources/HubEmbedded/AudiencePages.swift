import PushModel
import Store

/// An audience cut into the pages of a lane: each small enough for one message, each with the rows `(from, to]`.
struct AudiencePages {
    struct Page {
        let batch: PlannedBatch
        let devices: DeliverBatch.Devices
    }

    private(set) var pages: [Page] = []

    /// - Parameters:
    ///   - audience: Rows above `lane.after`, ascending.
    ///   - lane: Where the pages begin.
    ///   - isLast: Nothing comes behind this audience, so the last page ends where the lane does.
    init(_ audience: AudiencePage, lane: PlanLane, isLast: Bool) {
        var from = lane.after
        var current = DeliverBatch.Devices()
        func close(at end: Int64) {
            let number = lane.nextPage + self.pages.count
            let batch = PlannedBatch(page: number, from: from, to: end, size: current.count)
            self.pages.append(Page(batch: batch, devices: current))
            from = end
            current = DeliverBatch.Devices()
        }
        for (index, row) in audience.rows.enumerated() {
            let handle = audience.handles[index]
            let size = current.handles.bytes.count + handle.count + (current.count + 1) * 12
            if current.count == DeliverBatch.maximumDevices || (current.count > 0 && size > DeliverBatch.maximumBytes),
                let last = current.rows.last
            {
                close(at: last)
            }
            current.rows.append(row)
            current.handles.append(handle)
        }
        if let last = current.rows.last { close(at: isLast ? lane.through : last) }
    }
}
