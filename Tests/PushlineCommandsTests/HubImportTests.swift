import Foundation
import HubAzure
import HubWire
import PushModel
import PushlineClient
import Testing
import Undisturbed

@testable import PushlineCommands

@Suite(.undisturbed) struct HubImportLinesTests {
    private static let token = String(repeating: "AB", count: 32)

    private func line(_ change: (inout WireRegistration) -> Void = { _ in }) -> Result<
        HubImportLines.Line, HubImportSkip
    > {
        var wire = WireRegistration(platform: .apple, id: "1-2-3", handle: [Self.token], tags: ["a"])
        change(&wire)
        return HubImportLines.line(of: wire, now: Timestamp(milliseconds: 1_800_000_000_000))
    }

    private func text(_ change: (inout WireRegistration) -> Void = { _ in }) throws -> String {
        String(decoding: try self.line(change).get().bytes, as: UTF8.self)
    }

    private func skip(_ change: (inout WireRegistration) -> Void) -> HubImportSkip? {
        if case .failure(let reason) = self.line(change) { reason } else { nil }
    }

    @Test func aRegistrationKeepsItsIdTagsAndUser() throws {
        #expect(try self.text() == #"{"id":"1-2-3","service":"apns","handle":"\#(Self.token)","tags":["a"]}"#)
        let installed = try self.text { $0.tags = ["$InstallationId:{i-1}", "$UserId:{ann}", "b"] }
        #expect(
            installed
                == #"{"id":"1-2-3","service":"apns","handle":"\#(Self.token)","user":"ann","tags":["installation:i-1","b"]}"#
        )
    }

    @Test func aTemplateComesAlong() throws {
        var template = WireTemplate(
            body: #"{"aps":{"alert":"$(a)"}}"#,
            name: "t",
            headers: [.init("apns-priority", "5")]
        )
        template.expiry = "$(e)"
        template.priority = ""
        let own =
            #""template":{"name":"t","body":"{\"aps\":{\"alert\":\"$(a)\"}}","headers":{"apns-priority":"5"},"expiry":"$(e)"}}"#
        // The name is a tag of it.
        let text = try self.text { ($0.template, $0.tags) = (template, ["a", "t"]) }
        #expect(
            text == #"{"id":"1-2-3","service":"apns","handle":"\#(Self.token)","tags":["a","t"],\#(own)"#,
            "\(text)"
        )
        // One that can be no tag is left out of them.
        let named = try self.text {
            $0.template = WireTemplate(body: "{}", name: "my name")
            $0.tags = ["$InstallationId:{i}", "a", "my name"]
        }
        #expect(
            named
                == #"{"id":"1-2-3","service":"apns","handle":"\#(Self.token)","tags":["installation:i","a"],"template":{"name":"my name","body":"{}"}}"#
        )
        // Two without a name are two.
        let unnamed = try ["{}", #"{"a":"b"}"#, "{}"].map { body in
            try self.line { $0.template = WireTemplate(body: body) }.get().template
        }
        #expect(unnamed[0] != nil && unnamed[0] == unnamed[2] && unnamed[0] != unnamed[1])
        #expect(try self.line().get().template == nil)
    }

    @Test func whatIsGcmStaysGcm() throws {
        let line = #"{"id":"1","service":"fcm","handle":"g","tags":[]"#
        #expect(
            try self.text { $0 = WireRegistration(platform: .gcm, id: "1", handle: ["g"]) }
                == line + #","hubPlatform":"gcm"}"#
        )
        #expect(try self.text { $0 = WireRegistration(platform: .fcmV1, id: "1", handle: ["g"]) } == line + "}")
    }

    @Test func onlyAnEndThatIsOneIsKept() throws {
        for text in ["9999-12-31T23:59:59.999", "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.9999999Z", "soon"] {
            #expect(try !self.text { $0.expirationTime = text }.contains("expires"))
        }
        #expect(
            try self.text { $0.expirationTime = "2030-01-01T00:00:00Z" }.contains(
                #""expires":"2030-01-01T00:00:00.000Z""#
            )
        )
        #expect(self.skip { $0.expirationTime = "2020-01-01T00:00:00Z" } == .expired)
    }

    @Test func whatCannotBeDeliveredIsLeftOut() {
        #expect(self.skip { $0.id = nil } == .unreadable)
        func windows(tile: String?) -> HubImportSkip? {
            self.skip {
                $0 = WireRegistration(platform: .windows, id: "1", handle: ["https://db5.notify.windows.com/?token=a"])
                $0.secondaryTileName = tile
            }
        }
        #expect(windows(tile: nil) == nil && windows(tile: "") == nil)
        #expect(windows(tile: "weather") == .secondaryTile)
        #expect(self.skip { $0 = WireRegistration(platform: .adm, id: "1", handle: ["x"]) } == .platform("adm"))
        #expect(
            self.skip { $0 = WireRegistration(platform: .windowsPhone, id: "1", handle: ["x"]) }
                == .platform("windowsphone")
        )
    }

    @Test func pushVariablesAreToldOf() throws {
        let plain = try self.text()
        for (variables, isTold) in [(nil, false), ("", false), ("{ }", false), (#"{"a":"b"}"#, true)]
            as [(String?, Bool)]
        {
            let line = try self.line { $0.pushVariables = variables }.get()
            #expect(line.hadPushVariables == isTold)
            #expect(String(decoding: line.bytes, as: UTF8.self) == plain)
        }
        var progress = HubImportProgress(from: "h/a", to: "u default")
        progress.withoutPushVariables = 2
        progress.skip(.secondaryTile)
        #expect(progress.notes.contains { $0.contains("the push variables of 2 registrations") })
        #expect(progress.notes.contains { $0.contains("1 registration of secondary tiles") })
        #expect(progress.summary.withoutPushVariables == 2 && progress.words.contains("1 left out"))
    }

    @Test func aProgressIsOnlyForItsOwnImport() throws {
        let file = HubImportProgress.File(
            path: FileManager.default.temporaryDirectory.appending(path: "progress-\(UUID().uuidString).json").path
        )
        #expect(try file.read(from: "h/a", to: "u default") == nil)
        var progress = HubImportProgress(from: "h/a", to: "u default")
        progress.continuation = "token"
        progress.skip(.platform("adm"), 2)
        progress.skip(.expired)
        progress.skip(.secondaryTile)
        try file.write(progress)
        #expect(try file.read(from: "h/a", to: "u default") == progress)
        for (from, to) in [("h/b", "u default"), ("h/a", "u shop")] {
            #expect(throws: CommandFailure.self) { try file.read(from: from, to: to) }
        }
        #expect(progress.notes.count == 3 && progress.words.contains("4 left out"))
        try Data("{".utf8).write(to: URL(filePath: file.path))
        #expect(throws: CommandFailure.self) { try file.read(from: "h/a", to: "u default") }
        try file.remove()
        #expect(!file.exists)
    }
}

/// A hub that always names a next page.
@Suite(.undisturbed) struct EndlessHubTests {
    private static func registration(_ number: Int) -> WireRegistration {
        WireRegistration(platform: .apple, id: "\(number)", handle: ["ab"])
    }

    /// Imports from a hub that answers so, and returns why it ended.
    private static func end(
        _ hub: @escaping @Sendable (_ page: Int) -> AzurePage<WireRegistration>
    ) async throws -> (words: String, pages: Int) {
        let file = FileManager.default.temporaryDirectory.appending(path: "pushline-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let count = Counter()
        var copy = HubImport(
            hub: { _ throws(AzureHubError) in hub(await count.next()) },
            client: PushlineClient(url: try #require(URL(string: "http://127.0.0.1:1")), credentials: .key("k")),
            progress: HubImportProgress(from: "a", to: "b"),
            file: HubImportProgress.File(path: file.path)
        )
        do {
            _ = try await copy.run()
            return ("", await count.pages)
        } catch let stopped as HubImport.Stopped { return (stopped.words, await count.pages) }
    }

    private actor Counter {
        private(set) var pages = 0

        func next() -> Int {
            self.pages += 1
            return self.pages
        }
    }

    @Test func pagesInACircleEnd() async throws {
        let end = try await Self.end { page in
            AzurePage(items: [Self.registration(page)], unreadable: 0, continuation: "\(page % 3)")
        }
        #expect(end.words.contains("names a next page that it gave before") && end.pages == 4)
    }

    @Test func theSamePageAtEverNewPlacesEnds() async throws {
        let end = try await Self.end { page in
            AzurePage(items: [Self.registration(1)], unreadable: 0, continuation: "\(page)")
        }
        #expect(end.words.contains("gives the same registrations again") && end.pages == 2)
    }

    @Test(arguments: [0, 1]) func pagesWithoutARegistrationEnd(unreadable: Int) async throws {
        let end = try await Self.end { page in
            AzurePage(items: [], unreadable: unreadable, continuation: "\(page)")
        }
        #expect(end.words.contains("pages without a registration") && end.pages == HubImportPages.mostEmpty + 1)
    }

    /// A hub may give some pages without anything in between.
    @Test func someEmptyPagesAreNoEnd() async throws {
        let end = try await Self.end { page in
            AzurePage(items: [], unreadable: 0, continuation: page < 50 ? "\(page)" : nil)
        }
        #expect(end.words.isEmpty && end.pages == 50)
    }
}
