import Installation
import Logging
import Metrics
import NIOCore
import PushlineLogging

#if canImport(CMalloc)
import CMalloc
import Settings
#endif

/// The first steps of every process.
enum Bootstrap {
    /// Sets up logs and metrics for the whole process.
    ///
    /// - Parameters:
    ///   - role: The process's role.
    ///   - configuration: The log's level and format.
    /// - Returns: The process's logger and metrics registry.
    static func start(
        role: ProcessRole,
        configuration: PushlineConfiguration
    ) -> (logger: Logger, registry: PrometheusRegistry) {
        DescriptorLimit.raise()
        Self.limitThreads(of: role)
        Self.limitMemory()
        let log = configuration.log
        let isJournal = LineLogHandler.isJournal
        LoggingSystem.bootstrap { label in
            var handler = LineLogHandler(label: label, format: log.format, level: log.level, hasPriority: isJournal)
            handler.metadataProvider = LogContext.provider
            return handler
        }
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        return (Logger(label: role.rawValue), registry)
    }

    /// Few threads: an idle process shall stay small.
    ///
    /// Where cores are few, an API's loops share them with its store's writer and with the workers: a second one is mostly asleep when
    /// it is needed, and a send costs a tenth more. A delivery worker keeps two busy.
    private static func limitThreads(of role: ProcessRole) {
        NIOSingletons.groupLoopCountSuggestion = [.api, .hub].contains(role) && System.coreCount < 4 ? 1 : 2
        NIOSingletons.blockingPoolThreadCountSuggestion = 2
    }

    /// Lets freed memory go back to the system.
    ///
    /// glibc keeps an arena for each thread, and learns from one large block (a password's 16 MB) to keep the next ones.
    private static func limitMemory() {
        #if canImport(CMalloc)
        mallopt(M_ARENA_MAX, 4)
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        mallopt(M_TRIM_THRESHOLD, 1 << 20)
        #endif
    }

    /// Gives freed memory back that lies among used memory, which glibc does only when asked.
    @Sendable static func releaseMemory() {
        #if canImport(CMalloc)
        malloc_trim(0)
        #endif
    }
}
