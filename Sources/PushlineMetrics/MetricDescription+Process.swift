// Of the process itself, whatever it does; ``all`` has them in their places.
extension MetricDescription {
    package static let traceSpans = MetricDescription(
        "pushline_trace_spans_total",
        .counter,
        by: [.result],
        "spans that ended, by `result`: `exported`, `dropped` (the oldest, for the collector takes none or not as many) or `refused` (by the "
            + "collector, for good); without `traces.endpoint` there is no series"
    )
    package static let processCPU = MetricDescription(
        "process_cpu_seconds_total",
        .counter,
        "CPU time that the process has taken, in user and system mode"
    )
    package static let processMemory = MetricDescription(
        "process_resident_memory_bytes",
        .gauge,
        "the process's resident memory"
    )
    package static let processVirtualMemory = MetricDescription(
        "process_virtual_memory_bytes",
        .gauge,
        "the process's virtual memory"
    )
    package static let processOpenFiles = MetricDescription(
        "process_open_fds",
        .gauge,
        "the process's open file descriptors"
    )
    package static let processMaximumFiles = MetricDescription(
        "process_max_fds",
        .gauge,
        "how many file descriptors the process may have open"
    )
    package static let processStart = MetricDescription(
        "process_start_time_seconds",
        .gauge,
        "when the process was started, since 1970"
    )
    package static let processThreads = MetricDescription("process_threads", .gauge, "the process's threads")
}
