import Logging
import Metrics
import NIOCore
import Tracing

/// What a process sets up once, before anything else.
enum Bootstrap {
    /// Sets logs, metrics and trace context up for the whole process.
    ///
    /// - Parameters:
    ///   - name: The process's name, for the logger.
    ///   - configuration: Levels and format of logs.
    /// - Returns: The process's logger and what it measures.
    static func start(
        name: String,
        configuration: PushlineConfiguration
    ) -> (logger: Logger, registry: PrometheusRegistry) {
        Self.limitThreads()
        let log = configuration.log
        LoggingSystem.bootstrap { label in
            LineLogHandler(label: label, format: log.format, level: log.level)
        }
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        InstrumentationSystem.bootstrap(TraceContextInstrument())
        return (Logger(label: name), registry)
    }

    /// Few threads: an idle process shall stay small.
    private static func limitThreads() {
        NIOSingletons.groupLoopCountSuggestion = 2
        NIOSingletons.blockingPoolThreadCountSuggestion = 2
    }
}
