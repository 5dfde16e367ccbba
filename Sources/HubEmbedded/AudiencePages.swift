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
    ///   - audience: Rows above `lane.after`, ascending. The last page ends where this was read to.
    ///   - lane: Where the pages begin.
    init(_ audience: AudiencePage, lane: PlanLane) {
        var from = lane.after
        var current = DeliverBatch.Devices()
        var bytes = 0
        func close(at end: Int64) {
            let number = lane.nextPage + self.pages.count
            let batch = PlannedBatch(page: number, from: from, to: end, size: current.count)
            self.pages.append(Page(batch: batch, devices: current))
            from = end
            current = DeliverBatch.Devices()
            bytes = 0
        }
        for (index, row) in audience.rows.enumerated() {
            let handle = audience.handles[index]
            let size = DeliverBatch.Devices.wireSize(of: handle, pns: lane.pns)
            let isFull = current.count == DeliverBatch.maximumDevices || bytes + size > DeliverBatch.maximumBytes
            if isFull, let last = current.rows.last { close(at: last) }
            bytes += size
            current.rows.append(row)
            current.handles.append(handle)
        }
        if current.count > 0 { close(at: audience.scannedThrough) }
    }
}
