import Logging
import NIOConcurrencyHelpers
import PushModel
import Testing

@testable import Authentication

/// Which passwords are remembered, for how long.
@Suite struct PasswordMemoryTests {
    @Test func aPasswordIsRememberedForHoursFromItsLastUse() {
        let memory = PasswordMemory(lifetime: .seconds(8 * 3600), capacity: 10)
        let start = ContinuousClock.now
        let pair = memory.pair("password", "hash")
        #expect(!memory.recall(pair, now: start))
        memory.remember(pair, now: start)
        for hours in [1, 7, 14, 21] {
            #expect(memory.recall(pair, now: start + .seconds(hours * 3600)), "\(hours) h")
        }
        #expect(!memory.recall(pair, now: start + .seconds(30 * 3600)))
    }

    @Test func anotherPasswordOrHashIsNotRemembered() {
        let memory = PasswordMemory(lifetime: .seconds(60), capacity: 10)
        memory.remember(memory.pair("password", "hash"))
        #expect(memory.recall(memory.pair("password", "hash")))
        #expect(!memory.recall(memory.pair("password", "hash2")))
        #expect(!memory.recall(memory.pair("passwore", "hash")))
        #expect(!memory.recall(memory.pair("shpassword", "ha")))
        // Another process has another key.
        #expect(
            PasswordMemory(lifetime: .seconds(60), capacity: 10).pair("password", "hash")
                != memory.pair("password", "hash")
        )
    }

    @Test func beyondTheCapacityTheLeastRecentlyUsedAreForgotten() {
        let memory = PasswordMemory(lifetime: .seconds(8000), capacity: 10)
        let start = ContinuousClock.now
        let pairs = (0..<15).map { memory.pair("password \($0)", "hash") }
        for pair in pairs.prefix(10) { memory.remember(pair, now: start) }
        #expect(memory.recall(pairs[0], now: start + .seconds(2000)))
        for pair in pairs.suffix(5) { memory.remember(pair, now: start + .seconds(3000)) }
        #expect(
            (0..<15).filter { memory.recall(pairs[$0], now: start + .seconds(3000)) } == [0, 6, 7, 8, 9]
                + Array(10..<15)
        )
    }
}

/// What an operator is told.
@Suite struct SignInFailuresTests {
    private struct Told: LogHandler {
        let lines: AsyncStream<Logger.Metadata>.Continuation
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.notice

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) { self.lines.yield(event.metadata ?? [:]) }
    }

    @Test func signInFailuresAreLoggedOnceAsCounts() async throws {
        let (lines, continuation) = AsyncStream<Logger.Metadata>.makeStream()
        let failures = SignInFailures(
            interval: .milliseconds(200),
            logger: Logger(label: "test") { _ in Told(lines: continuation) }
        )
        for _ in 0..<3 { failures.count(.password, app: .default) }
        failures.count(.key, app: .default)
        failures.countTurnedAway(app: .default)
        var told = lines.makeAsyncIterator()
        let first = await told.next()
        #expect(first == ["signin.failed": "4", "signin.turned.away": "1"])
        // The next begins from nothing.
        failures.count(.password, app: .default)
        let second = await told.next()
        #expect(second == ["signin.failed": "1", "signin.turned.away": "0"])
    }
}
