import Foundation
import Installation
import PushModel
import Settings
import Store
import Testing
import Undisturbed

@testable import PushlineCommands

/// What `pushline store restore` says of sends that were under way, and does about them.
@Suite(.undisturbed) struct StoreRestoreTests {
    private let host: HostCommandsTests.Host

    init() async throws {
        self.host = try HostCommandsTests.Host()
        _ = try await self.host.run("apps", "apply", self.host.path("apps.yaml"))
    }

    private func open() async throws -> any ResultStore {
        let configuration = try PushlineConfiguration(file: self.host.path("pushline.yaml"), environment: [:])
        return try await Composition.store(configuration).open(logger: HostOptions.logger)
    }

    /// Accepts a send to so many devices, now or in an hour.
    private func accept(_ devices: Int, isAhead: Bool = false) async throws -> JobID {
        let list = RecipientList(
            handles: (1...devices).map {
                Recipient(place: $0, pns: .apns, handle: Handle(stored: "aa\($0)"), reference: nil)
            }
        )
        let new = NewJob(
            app: .default,
            work: .send(SendRequest(to: .list(list.count), content: .message(.init(body: "b")))),
            lifetime: .seconds(600),
            startsAt: isAhead ? Timestamp.now.advanced(by: .seconds(3600)) : nil,
            recipients: list
        )
        guard case .accepted(let job)? = try await self.open().accept([new]).answers.first else {
            throw CommandFailure.failed("the send was not accepted")
        }
        return job.id
    }

    private func backUp() async throws {
        _ = try await self.host.run("store", "backup", self.host.path("copy"))
        for name in ["", "-wal", "-shm"] {
            let file = self.host.path("store.sqlite" + name)
            if FileManager.default.fileExists(atPath: file) { try FileManager.default.removeItem(atPath: file) }
        }
    }

    private var restored: String { "\(self.host.path("store.sqlite")): restored: run pushline store check next" }

    @Test func nothingWasUnderWay() async throws {
        try await self.backUp()
        let lines = try await self.host.run("store", "restore", self.host.path("copy"))
        #expect(lines == [self.restored, "no send was under way: no device gets a push once more"])
    }

    @Test func itSaysHowManyDevicesMayGetAPushOnceMore() async throws {
        let jobs = [try await self.accept(3), try await self.accept(2)]
        _ = try await self.accept(1, isAhead: true)
        try await self.backUp()
        let lines = try await self.host.run("store", "restore", self.host.path("copy"))
        let words =
            "2 sends were under way: 5 devices may get a push once more (--stop-unfinished cancels them instead); 1 scheduled send kept"
        #expect(lines == [self.restored, words])
        for id in jobs { #expect(try await self.open().job(id, app: .default)?.state == .queued) }
    }

    @Test func whatWasUnderWayIsCancelled() async throws {
        let id = try await self.accept(3)
        let scheduled = try await self.accept(1, isAhead: true)
        try await self.backUp()
        let lines = try await self.host.run("store", "restore", "--stop-unfinished", self.host.path("copy"))
        #expect(lines == [self.restored, "1 send was under way to 3 devices, and is cancelled; 1 scheduled send kept"])
        let job = try #require(try await self.open().job(id, app: .default))
        #expect(job.state == .cancelled)
        #expect(job.reason == "a backup was restored, and what was unfinished in it was stopped")
        #expect(try await self.open().job(scheduled, app: .default)?.state == .scheduled)
        #expect(try await self.host.run("store", "check") == ["2 jobs: all adds up"])
    }

    @Test func itSaysSoAsJSON() async throws {
        _ = try await self.accept(3)
        try await self.backUp()
        let text = try await self.host.run("store", "restore", self.host.path("copy"), "--format", "json").joined()
        let answer = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let unfinished = try #require(answer["unfinished"] as? [String: Any])
        #expect(unfinished["sends"] as? Int == 1)
        #expect(unfinished["devices"] as? Int == 3)
        #expect(unfinished["lookingUp"] as? Int == 0)
        #expect(unfinished["scheduled"] as? Int == 0)
        #expect(unfinished["stopped"] as? Bool == false)
    }
}
