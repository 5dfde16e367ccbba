import Testing
import Undisturbed

@testable import WebServing

@Suite(.undisturbed) struct ProgressTimeoutTests {
    @Test func timeSpentInTheStoreDoesNotCountAsAStalledUpload() async throws {
        let timeout = ProgressTimeout(idle: .milliseconds(50), total: .seconds(60), rate: 1000)
        try await timeout.run {
            try await timeout.waiting({ 0 }) {}
            try await Task.sleep(for: .milliseconds(400))
        }
        await #expect(throws: ProgressTimeout.Stalled.self) {
            try await timeout.run { try await timeout.waiting({ 0 }) { try await Task.sleep(for: .seconds(60)) } }
        }
        let short = ProgressTimeout(idle: .seconds(60), total: .milliseconds(50), rate: 1000)
        await #expect(throws: ProgressTimeout.Stalled.self) {
            try await short.run { try await Task.sleep(for: .seconds(60)) }
        }
    }

    /// A byte now and then is progress by events, and none by bytes.
    @Test func aDrippingUploadIsEndedAndASteadyOneIsNot() async throws {
        let timeout = ProgressTimeout(idle: .milliseconds(500), total: .seconds(60), rate: 1000)
        await #expect(throws: ProgressTimeout.Stalled.self) {
            try await timeout.run {
                while true { try await timeout.waiting({ 1 }) { try await Task.sleep(for: .milliseconds(20)) } }
            }
        }
        // As long as that, with what makes up for it; whatever else the machine has to do.
        let steady = ProgressTimeout(idle: .seconds(5), total: .seconds(60), rate: 1000)
        try await steady.run {
            for _ in 0..<50 {
                try await steady.waiting({ 100_000 }) { try await Task.sleep(for: .milliseconds(20)) }
            }
        }
    }
}
