import Logging
import PushModel
import PushlineTracing
import ServiceLifecycle
import Settings

/// How a process traces: not at all, unless a collector is configured.
struct ProcessTraces {
    let traces: Traces
    /// What exports the spans; to be ended last.
    let services: [any Service]

    init(_ settings: TraceSettings, role: ProcessRole, logger: Logger) {
        guard let endpoint = settings.endpoint else {
            (self.traces, self.services) = (.off, [])
            if let unsupported = OpenTelemetryVariables().unsupported {
                logger.warning("Nothing is traced", metadata: ["reason": "\(unsupported)"])
            }
            return
        }
        let queue = SpanQueue()
        self.traces = Traces(settings, to: queue)
        self.services = [
            SpanExporter(
                endpoint: endpoint,
                queue: queue,
                service: settings.serviceName ?? role.rawValue,
                version: pushlineVersion,
                logger: logger
            )
        ]
    }
}
