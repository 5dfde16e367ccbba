import Foundation
import Testing

@testable import PushlineClient

@Suite struct RegistrationStorageTests {
    private let folder = TemporaryFolder()

    private func mode(_ url: URL) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        return try #require(attributes[.posixPermissions] as? NSNumber).intValue & 0o777
    }

    @Test func aFileIsItsOwnersAlone() throws {
        let storage = FileRegistrationStorage(file: self.folder.url.appending(path: "a ü/b/r.json"))
        #expect(try storage.read() == nil)
        for text in ["first, and longer", "second"] {
            try storage.write(Data(text.utf8))
            #expect(try storage.read() == Data(text.utf8))
            #expect(try self.mode(storage.file) == 0o600)
        }
        #expect(try self.mode(storage.file.deletingLastPathComponent()) == 0o700)
        #expect(try self.names(beside: storage.file) == ["r.json"])
    }

    /// Whoever made the file readable for others finds it closed again.
    @Test func theFileIsReplacedAndNotWrittenInto() throws {
        let storage = FileRegistrationStorage(file: self.folder.url.appending(path: "r.json"))
        try storage.write(Data("old".utf8))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: storage.file.path)
        let before = try FileHandle(forReadingFrom: storage.file)
        try storage.write(Data("new".utf8))
        #expect(try before.readToEnd() == Data("old".utf8))
        #expect(try self.mode(storage.file) == 0o600)
    }

    @Test func aLinkIsReplacedAndNotFollowed() throws {
        let storage = FileRegistrationStorage(file: self.folder.url.appending(path: "r.json"))
        let victim = self.folder.url.appending(path: "victim")
        try Data("mine".utf8).write(to: victim)
        try FileManager.default.createSymbolicLink(at: storage.file, withDestinationURL: victim)
        try storage.write(Data("new".utf8))
        #expect(try Data(contentsOf: victim) == Data("mine".utf8))
        #expect(try storage.read() == Data("new".utf8))
    }

    @Test func aFileThatCannotBeWrittenIsAnErrorAndLeavesNothing() throws {
        let file = self.folder.url.appending(path: "r.json")
        try FileManager.default.createDirectory(at: file.appending(path: "x"), withIntermediateDirectories: true)
        let error = #expect(throws: PushlineError.self) {
            try FileRegistrationStorage(file: file).write(Data("new".utf8))
        }
        #expect(error?.code == .storage)
        #expect(error?.message.contains("r.json cannot be written: ") == true)
        #expect(try self.names(beside: file) == ["r.json"])
    }

    /// Readers see one of the two, whole, whoever writes meanwhile.
    @Test func concurrentWritersLeaveAWholeFile() async throws {
        let storage = FileRegistrationStorage(file: self.folder.url.appending(path: "r.json"))
        let texts = (0..<8).map { Data(repeating: UInt8($0), count: 10_000 + $0) }
        try storage.write(texts[0])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for text in texts {
                group.addTask {
                    for _ in 0..<10 {
                        try storage.write(text)
                        let found = try #require(try storage.read())
                        #expect(texts.contains(found))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try self.names(beside: storage.file) == ["r.json"])
    }

    private func names(beside file: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
    }
}
