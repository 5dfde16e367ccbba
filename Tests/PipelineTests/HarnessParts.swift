import PushModel
import Store
import Testing

@testable import Pipeline

struct HarnessError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Checks what must hold for every finished job.
func expectSound(_ job: Job, sourceLocation: SourceLocation = #_sourceLocation) {
    for (pns, counts) in job.counts {
        #expect(counts.targets == counts.accounted, "\(pns): \(counts)", sourceLocation: sourceLocation)
    }
}

/// A made-up APNs token, another for each number.
func token(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.count) + digits
}

extension DeliveryWorker.Configuration {
    /// A few permits, and a short time until a service that keeps them counts as slow.
    static var narrow: Self {
        var configuration = Self()
        (configuration.devices, configuration.messages) = (4, 4)
        configuration.slowAfter = .milliseconds(500)
        configuration.slowPause = .seconds(2)
        return configuration
    }
}

extension PipelineHarness {
    /// Gives the default app a hub over a wire, which never answers.
    func declareSilentHub() async throws {
        var spec = AppSpec()
        spec.azureHub = AppSpec.AzureHub {
            $0.connectionStringFile = "/nowhere"
            $0.name = "news"
            $0.platforms = [.apns]
        }
        _ = try await self.store.apply(.app(.default, spec))
        self.wireHub.fallSilent()
    }
}
