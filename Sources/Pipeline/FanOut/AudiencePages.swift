import PushModel
import Store

/// An audience cut into the pages of a cursor: each small enough for one message, each with the rows `(from, to]`.
///
/// Of a send for templates each page has the devices of one template among those rows, so that its notification is made once.
struct AudiencePages {
    struct Page {
        let batch: FanOutPage
        let devices: DeliverBatch.Devices
    }

    private(set) var pages: [Page] = []

    /// - Parameters:
    ///   - audience: Rows above `cursor.after`, ascending. The last page ends where this was read to.
    ///   - cursor: Where the pages begin.
    init(_ audience: AudiencePage, cursor: AudienceCursor) {
        if audience.templates.isEmpty { self.add(audience, template: nil, cursor: cursor) }
        // A row without one was changed since it was read: it is not a target.
        for template in Set(audience.templates).subtracting([0]).sorted() {
            self.add(audience.only(template), template: template, cursor: cursor)
        }
    }

    /// Adds pages of devices that all get the same.
    private mutating func add(_ audience: AudiencePage, template: Int64?, cursor: AudienceCursor) {
        var from = cursor.after
        /// Where the page that is being filled begins.
        var start = 0
        var bytes = 0
        func close(before end: Int, at through: Int64) {
            var devices = DeliverBatch.Devices()
            devices.rows = Array(audience.rows[start..<end])
            devices.handles = audience.handles[start..<end]
            devices.credentials = audience.credentials[start..<end]
            let number = cursor.nextPage + self.pages.count
            let batch = FanOutPage(
                page: number,
                from: from,
                to: through,
                size: devices.count,
                named: devices.named,
                template: template
            )
            self.pages.append(Page(batch: batch, devices: devices))
            (from, start, bytes) = (through, end, 0)
        }
        let isHexadecimal = cursor.pns.descriptor.handle.isHexadecimal
        for index in audience.rows.indices {
            let length = audience.handles.length(at: index)
            let size = DeliverBatch.Devices.wireSize(handleLength: length, isHexadecimal: isHexadecimal)
            let isFull = index - start == DeliverBatch.maximumDevices || bytes + size > DeliverBatch.maximumBytes
            if isFull, index > start { close(before: index, at: audience.rows[index - 1]) }
            bytes += size
        }
        if start < audience.rows.count { close(before: audience.rows.count, at: audience.scannedThrough) }
    }
}
