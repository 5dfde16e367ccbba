import Foundation
import PushModel
import Testing

/// All programs and the list of changes have one version.
@Suite(.timeLimit(.minutes(5))) struct VersionTests {
    static let programs = [
        "pushline", "pushline-api", "pushline-hub", "pushline-register-worker", "pushline-send-worker",
        "pushline-delivery-worker", "pushline-simulator",
    ]

    @Test(arguments: VersionTests.programs)
    func eachProgramSaysIt(_ name: String) throws {
        let program = Process()
        program.executableURL = Bundle.main.bundleURL.appending(path: name)
        program.arguments = ["--version"]
        let output = Pipe()
        program.standardOutput = output
        try program.run()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        program.waitUntilExit()
        #expect(program.terminationStatus == 0)
        #expect(String(decoding: said, as: UTF8.self) == "\(pushlineVersion)\n")
    }

    /// The newest heading of `CHANGELOG.md` is `## 0.1.0, 2026-11-26`, or `## 0.1.0, not released yet`; `deploy/release` reads it too.
    @Test func itIsTheNewestOfTheListOfChanges() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "CHANGELOG.md"), encoding: .utf8)
        let heading = text.split(separator: "\n").first { $0.hasPrefix("## ") } ?? ""
        let words = heading.dropFirst(3).split(separator: ", ", maxSplits: 1)
        #expect(words.first.map(String.init) == pushlineVersion, "\(heading)")
        #expect(words.last?.wholeMatch(of: /not released yet|\d{4}-\d\d-\d\d/) != nil, "\(heading)")
    }
}
