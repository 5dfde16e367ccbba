import Foundation
import Installation

/// What the kernel says about this process, in the names that Prometheus dashboards expect.
enum ProcessMetrics {
    /// Empty where the kernel has no `/proc`.
    static func exposition() -> String {
        var text = "# TYPE pushline_build_info gauge\npushline_build_info{version=\"\(pushlineVersion)\"} 1\n"
        if let pages = Self.field(1, of: "/proc/self/statm").flatMap(Double.init) {
            let bytes = pages * Double(Self.pageSize)
            text += Self.line("process_resident_memory_bytes", "gauge", bytes)
        }
        // The command's name may hold spaces: fields count from behind its bracket. User and system time are 14 and 15.
        if let stat = Self.read("/proc/self/stat"), let bracket = stat.lastIndex(of: ")") {
            let fields = stat[bracket...].split(separator: " ")
            if fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) {
                let seconds = (user + system) / Double(Self.ticksPerSecond)
                text += Self.line("process_cpu_seconds_total", "counter", seconds)
            }
        }
        return text
    }

    private static func line(_ name: String, _ kind: String, _ value: Double) -> String {
        "# TYPE \(name) \(kind)\n\(name) \(prometheusNumber(value))\n"
    }

    private static func field(_ index: Int, of file: String) -> String? {
        let fields = Self.read(file)?.split(separator: " ") ?? []
        return index < fields.count ? String(fields[index]) : nil
    }

    private static func read(_ file: String) -> String? { try? String(contentsOfFile: file, encoding: .utf8) }

    private static var pageSize: Int { sysconf(Int32(_SC_PAGESIZE)) }
    private static var ticksPerSecond: Int { sysconf(Int32(_SC_CLK_TCK)) }
}
