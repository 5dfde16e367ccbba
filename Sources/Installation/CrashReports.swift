import Foundation

/// What Swift prints when a process crashes: where, but not what was in its memory.
///
/// On Linux it prints the registers too unless it is told otherwise, and of what they point to the first bytes: passwords, keys, handles
/// and payloads, in a log that others read.
package enum CrashReports {
    /// Swift's settings of crash reports; it reads them before any code of ours runs.
    static let variable = "SWIFT_BACKTRACE"

    /// Has this process crash without a word of its memory; to be called first of all.
    ///
    /// Where it was not started so, it becomes the same program anew, under the same process id.
    package static func leaveOutMemory() {
        #if os(Linux)
        let present = unsafe getenv(Self.variable).map { unsafe String(cString: $0) }
        guard let settings = Self.settings(from: present) else { return }
        // The file's own name, for the system shows it as the process's; where it was replaced meanwhile, what runs.
        let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        unsafe setenv(Self.variable, settings, 1)
        for path in [file, "/proc/self/exe"].compactMap({ $0 }) { unsafe execv(path, CommandLine.unsafeArgv) }
        let advice = "start it with \(Self.variable)=\(settings)"
        FileHandle.standardError.write(Data("warning: a crash will print parts of the memory; \(advice)\n".utf8))
        #endif
    }

    /// The settings to start with.
    ///
    /// - Parameter present: Those there are.
    /// - Returns: nil if they need no change: they speak of registers, or turn reports off.
    static func settings(from present: String?) -> String? {
        let pairs = (present ?? "").split(separator: ",")
        guard !pairs.contains(where: { $0.hasPrefix("registers=") || $0 == "enable=no" }) else { return nil }
        return (pairs + ["registers=none"]).joined(separator: ",")
    }
}
