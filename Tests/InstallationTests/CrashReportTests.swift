import Foundation
import Testing
import Undisturbed

@testable import Installation

#if os(Linux)
/// What a crash prints of a process's memory.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct CrashReportTests {
    static let cases: [(String?, String?)] = [
        (nil, "registers=none"), ("", "registers=none"), ("color=no", "color=no,registers=none"),
        ("registers=crashed", nil), ("color=no,registers=none", nil), ("enable=no", nil),
        ("enable=yes", "enable=yes,registers=none"),
    ]

    @Test(arguments: CrashReportTests.cases)
    func registersAreLeftOutUnlessSomebodyAsksForThem(_ present: String?, _ settings: String?) {
        #expect(CrashReports.settings(from: present) == settings)
    }

    /// A program that waits for a password is made to crash; with the second setting it prints what it would without us.
    @Test(arguments: [("symbolicate=off", false), ("symbolicate=off,registers=crashed", true)])
    func aCrashPrintsNoMemory(_ settings: String, _ isMemoryPrinted: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-crash-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let output = folder.appending(path: "output")
        #expect(FileManager.default.createFile(atPath: output.path, contents: nil))
        let program = Process()
        program.executableURL = Bundle.main.bundleURL.appending(path: "pushline")
        program.arguments = ["accounts", "change", "ann", "--password"]
        program.currentDirectoryURL = folder
        program.environment = [
            "SWIFT_BACKTRACE": settings, "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "",
            "PUSHLINE_STORE_PATH": folder.appending(path: "store.sqlite").path,
        ]
        program.standardInput = Pipe()
        let handle = try FileHandle(forWritingTo: output)
        (program.standardOutput, program.standardError) = (handle, handle)
        try program.run()
        let pid = program.processIdentifier
        try await Self.eventually("it reads standard input") { try Self.isReading(pid) }
        kill(pid, SIGSEGV)
        program.waitUntilExit()
        let said = try String(contentsOf: output, encoding: .utf8)
        #expect(said.contains("crashed"), "\(said)")
        // A register, and the sixteen bytes that it points to.
        #expect(said.contains(#/(?:[0-9a-f]{2} ){16}/#) == isMemoryPrinted, "\(said)")
    }

    private static func proc(_ pid: Int32, _ file: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "/proc/\(pid)/\(file)")), as: UTF8.self)
    }

    /// Whether one of its threads waits in a read of standard input.
    private static func isReading(_ pid: Int32) throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task").contains { thread in
            let call = try Self.proc(pid, "task/\(thread)/syscall").split(separator: " ").prefix(2)
            #if arch(x86_64)
            return call == ["0", "0x0"]
            #else
            return call == ["63", "0x0"]
            #endif
        }
    }

    private static func eventually(_ what: String, _ condition: () throws -> Bool) async throws {
        for _ in 0..<600 {
            if try condition() { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("it never came that \(what)")
    }
}
#endif
