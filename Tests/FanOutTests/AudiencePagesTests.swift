import PushModel
import Store
import Testing

@testable import Pipeline

struct AudiencePagesTests {
    private func audience(_ count: Int, handleBytes: Int, scannedThrough: Int64 = 1_000_000) -> AudiencePage {
        var audience = AudiencePage(scannedThrough: scannedThrough)
        for number in 0..<count {
            audience.rows.append(Int64(number * 3 + 5))
            audience.handles.append(Array(repeating: UInt8(ascii: "a"), count: handleBytes))
        }
        return audience
    }

    @Test(arguments: [(0, 64), (1, 64), (999, 32), (1000, 32), (1001, 32), (2500, 64), (700, 163), (90, 2048)])
    func pagesCoverTheAudienceOnceAndFitAMessage(count: Int, handleBytes: Int) {
        let audience = self.audience(count, handleBytes: handleBytes)
        let cursor = AudienceCursor(pns: .apns, after: 4, through: 1_000_000, nextPage: 7, isDone: false)
        let pages = AudiencePages(audience, cursor: cursor).pages
        #expect(pages.flatMap(\.devices.rows) == audience.rows)
        #expect(pages.map(\.batch.page) == (0..<pages.count).map { $0 + 7 })
        var from = cursor.after
        for page in pages {
            #expect(page.batch.from == from)
            #expect(page.batch.size == page.devices.count)
            #expect(page.devices.rows.allSatisfy { $0 > page.batch.from && $0 <= page.batch.to })
            #expect(page.devices.count <= DeliverBatch.maximumDevices)
            #expect(page.devices.handles.bytes.count / 2 + page.devices.count * 12 <= DeliverBatch.maximumBytes)
            from = page.batch.to
        }
        if !pages.isEmpty { #expect(from == cursor.through) }
    }

    @Test func theLastPageEndsAtTheLastRowRead() {
        let audience = self.audience(10, handleBytes: 64, scannedThrough: 500)
        let cursor = AudienceCursor(pns: .apns, after: 0, through: 1_000_000, nextPage: 0, isDone: false)
        let pages = AudiencePages(audience, cursor: cursor).pages
        #expect(pages.last?.batch.to == 500)
    }

    @Test func aThousandTokensFitOnePage() {
        let pages = AudiencePages(
            self.audience(1000, handleBytes: 64),
            cursor: AudienceCursor(pns: .apns, after: 0, through: 1_000_000, nextPage: 0, isDone: false)
        )
        #expect(pages.pages.count == 1)
    }
}
