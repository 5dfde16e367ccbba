import Installation
import Metrics
import Testing

@testable import Runtime

@Suite struct PrometheusRegistryTests {
    private let registry = PrometheusRegistry()

    @Test func countersGaugesAndTimersAreWritten() {
        Counter(label: "push.sent", dimensions: [("push.service", "apns")], factory: self.registry).increment(by: 3)
        Gauge(label: "store.backlog", factory: self.registry).record(7)
        Meter(label: "broker.open", factory: self.registry).set(2.5)
        Timer(label: "http.request", factory: self.registry).recordMilliseconds(30)
        let text = self.registry.exposition()
        #expect(text.contains("# TYPE push_sent_total counter\npush_sent_total{push_service=\"apns\"} 3\n"))
        #expect(text.contains("# TYPE store_backlog gauge\nstore_backlog 7\n"))
        #expect(text.contains("broker_open 2.5\n"))
        #expect(text.contains("http_request_seconds_bucket{le=\"0.025\"} 0\n"))
        #expect(text.contains("http_request_seconds_bucket{le=\"0.05\"} 1\n"))
        #expect(text.contains("http_request_seconds_bucket{le=\"+Inf\"} 1\n"))
        #expect(text.contains("http_request_seconds_sum 0.03\nhttp_request_seconds_count 1\n"))
    }

    @Test func theSameLabelsAreOneSeries() {
        for _ in 0..<3 {
            Counter(label: "a", dimensions: [("x", "1"), ("y", "2")], factory: self.registry).increment()
            Counter(label: "a", dimensions: [("y", "2"), ("x", "1")], factory: self.registry).increment()
        }
        #expect(self.registry.exposition() == "# TYPE a_total counter\na_total{x=\"1\",y=\"2\"} 6\n")
    }

    @Test func hostileNamesAndValuesStayInTheirPlace() {
        Counter(label: "1 a\n{b", dimensions: [("l-ä", "x\"} 1\nb 2\\")], factory: self.registry).increment()
        #expect(
            self.registry.exposition()
                == "# TYPE _1_a__b_total counter\n_1_a__b_total{l__=\"x\\\"} 1\\nb 2\\\\\"} 1\n"
        )
    }

    @Test func labelSetsAreBounded() {
        for number in 0..<(PrometheusRegistry.maximumSeries + 100) {
            Counter(label: "a", dimensions: [("x", "\(number)")], factory: self.registry).increment()
        }
        let lines = self.registry.exposition().split(separator: "\n")
        #expect(lines.count == PrometheusRegistry.maximumSeries + 2)
        #expect(lines.contains("a_total{x=\"other\"} 100"))
    }

    @Test func aNameIsOfOneKind() {
        Gauge(label: "a_total", factory: self.registry).record(1)
        Counter(label: "a", factory: self.registry).increment()
        #expect(self.registry.exposition() == "# TYPE a_total gauge\na_total 1\n")
    }

    @Test func theProcessTellsItsMemory() {
        #expect(ProcessMetrics.exposition().contains("pushline_build_info{version=\"\(pushlineVersion)\"} 1"))
        #if os(Linux)
        #expect(ProcessMetrics.exposition().contains("process_resident_memory_bytes "))
        #expect(ProcessMetrics.exposition().contains("process_cpu_seconds_total "))
        #endif
    }
}
