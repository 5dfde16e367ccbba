import Foundation
import Installation
import PushModel
import PushlineMetrics

/// The kernel's figures for this process, under the names that Prometheus' dashboards expect.
enum ProcessMetrics {
    /// Without `/proc`, the exposition has only the build information.
    static func exposition(role: ProcessRole) -> String {
        MetricDescription.buildInfo.text(1, [.version: pushlineVersion, .role: role.name])
            + Self.descriptors + Self.statistics
    }

    /// Bytes in the machine's memory; nil without `/proc`.
    static var memory: Double? { Self.fields.map(Self.memory) }

    private static func memory(_ fields: [Double]) -> Double {
        21 < fields.count ? fields[21] * Double(sysconf(Int32(_SC_PAGESIZE))) : 0
    }

    /// Of `/proc/self/stat`, from the third of proc(5) on: the command's name before it may hold spaces, and ends with a bracket.
    private static var fields: [Double]? {
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let bracket = stat.lastIndex(of: ")")
        else { return nil }
        return stat[stat.index(after: bracket)...].split(separator: " ").map { Double($0) ?? 0 }
    }

    /// Memory, time and threads.
    private static var statistics: String {
        guard let fields = Self.fields else { return "" }
        func field(_ number: Int) -> Double { number - 3 < fields.count ? fields[number - 3] : 0 }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        let memory = MetricDescription.processMemory.text(Self.memory(fields))
        return MetricDescription.processCPU.text((field(14) + field(15)) / ticks) + memory
            + MetricDescription.processVirtualMemory.text(field(23))
            + MetricDescription.processThreads.text(field(20))
            + (Self.bootTime.map { MetricDescription.processStart.text($0 + field(22) / ticks) } ?? "")
    }

    /// The machine's start, in seconds since 1970: `/proc` gives a process's start relative to it.
    private static let bootTime: Double? = {
        let lines = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8))?.split(separator: "\n") ?? []
        return lines.first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst("btime ".count)) }
    }()

    private static var descriptors: String {
        guard let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") else { return "" }
        // Less the one that the folder was read by.
        return MetricDescription.processOpenFiles.text(Double(open.count - 1))
            + (DescriptorLimit.current.map { MetricDescription.processMaximumFiles.text(Double($0.soft)) } ?? "")
    }
}
