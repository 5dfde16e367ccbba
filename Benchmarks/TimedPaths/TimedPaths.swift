import Benchmark
import HotPaths

let benchmarks: @Sendable () -> Void = {
    for path in HotPath.all {
        let configuration = Benchmark.Configuration(metrics: [.wallClock, .cpuTotal], maxDuration: .seconds(2))
        Benchmark("\(path.name), \(path.devices) devices", configuration: configuration) { benchmark in
            for _ in benchmark.scaledIterations { blackHole(path.run(1)) }
        }
    }
}
