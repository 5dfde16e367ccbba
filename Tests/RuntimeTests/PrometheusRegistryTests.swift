import Foundation
import Metrics
import PushModel
import PushlineMetrics
import Testing

@testable import Runtime

@Suite struct PrometheusRegistryTests {
    private let registry = PrometheusRegistry()

    @Test func countersGaugesAndTimersAreWritten() throws {
        Counter(label: "pushline_push_sent_total", dimensions: [("service", "apns")], factory: self.registry)
            .increment(by: 3)
        Gauge(label: "backlog", factory: self.registry).record(7)
        Meter(label: "broker.open", factory: self.registry).set(2.5)
        let published = MetricDescription.brokerPublishDuration.name
        Timer(label: published, factory: self.registry).recordMilliseconds(30)
        let text = self.registry.exposition()
        // What is not in the table has no help, which promtool reports.
        #expect(
            text.contains("# TYPE pushline_push_sent_total counter\npushline_push_sent_total{service=\"apns\"} 3\n")
        )
        #expect(text.contains("# TYPE backlog gauge\nbacklog 7\n"))
        #expect(text.contains("broker_open 2.5\n"))
        #expect(text.contains("# HELP \(published) from handing messages over "))
        #expect(text.contains("\n# TYPE \(published) histogram\n"))
        #expect(text.contains("\(published)_bucket{le=\"0.025\"} 0\n"))
        #expect(text.contains("\(published)_bucket{le=\"0.05\"} 1\n"))
        #expect(text.contains("\(published)_bucket{le=\"+Inf\"} 1\n"))
        #expect(text.contains("\(published)_sum 0.03\n\(published)_count 1\n"))
    }

    @Test func theSameLabelsAreOneSeries() {
        for _ in 0..<3 {
            Counter(label: "a", dimensions: [("x", "1"), ("y", "2")], factory: self.registry).increment()
            Counter(label: "a", dimensions: [("y", "2"), ("x", "1")], factory: self.registry).increment()
        }
        #expect(self.registry.exposition() == "# TYPE a counter\na{x=\"1\",y=\"2\"} 6\n")
    }

    @Test func hostileNamesAndValuesAreEscaped() {
        Counter(label: "1 a\n{b", dimensions: [("l-ä", "x\"} 1\nb 2\\")], factory: self.registry).increment()
        #expect(
            self.registry.exposition()
                == "# TYPE _1_a__b counter\n_1_a__b{l__=\"x\\\"} 1\\nb 2\\\\\"} 1\n"
        )
    }

    @Test func labelSetsAreBounded() {
        for number in 0..<(PrometheusRegistry.maximumSeries + 100) {
            Counter(label: "a", dimensions: [("x", "\(number)")], factory: self.registry).increment()
        }
        let lines = self.registry.exposition().split(separator: "\n")
        #expect(lines.count == PrometheusRegistry.maximumSeries + 2)
        #expect(lines.contains("a{x=\"other\"} 100"))
    }

    @Test func aMetricNameHasOneKind() {
        Gauge(label: "a", factory: self.registry).record(1)
        Counter(label: "a", factory: self.registry).increment()
        #expect(self.registry.exposition() == "# TYPE a gauge\na 1\n")
    }

    @Test func processMetricsAreExposed() {
        let text = ProcessMetrics.exposition(role: .deliveryWorker)
        #expect(text.contains("pushline_build_info{role=\"delivery-worker\",version=\"\(pushlineVersion)\"} 1\n"))
        #if os(Linux)
        func value(_ metric: MetricDescription) -> Double {
            let line = text.split(separator: "\n").first { $0.hasPrefix("\(metric.name) ") }
            return line.flatMap { Double($0.dropFirst(metric.name.count + 1)) } ?? .nan
        }
        #expect(value(.processCPU) > 0)
        #expect(value(.processMemory) > 1_000_000)
        #expect(value(.processVirtualMemory) > value(.processMemory))
        #expect(value(.processThreads) >= 1)
        #expect(value(.processOpenFiles) >= 3)
        #expect(value(.processMaximumFiles) >= value(.processOpenFiles))
        let age = Date.now.timeIntervalSince1970 - value(.processStart)
        #expect(age > -2 && age < 24 * 3600)
        #endif
    }

    @Test func computedSamplesAreWritten() {
        let text = MetricDescription.queueJobs.text([([.queue: "send"], 2), ([.queue: "deliver.apns"], 0.5)])
        #expect(text.hasPrefix("# HELP pushline_queue_jobs jobs "))
        #expect(
            text.hasSuffix(
                """
                # TYPE pushline_queue_jobs gauge
                pushline_queue_jobs{queue="send"} 2
                pushline_queue_jobs{queue="deliver.apns"} 0.5

                """
            )
        )
        #expect(MetricDescription.queueJobs.text([]).isEmpty)
    }
}
