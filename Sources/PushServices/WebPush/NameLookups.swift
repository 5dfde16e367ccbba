import NIOPosix
import PushModel

/// Asks the system for the addresses of names, whose answer a thread must wait for: a few names at a time, each once for all who ask.
actor NameLookups {
    /// The process' own.
    static let system: NameLookups = {
        let threads = NIOThreadPool(numberOfThreads: 8)
        threads.start()
        return NameLookups(on: threads, lookUp: SystemNames.addresses)
    }()

    /// More than the hosts of all browsers' push services.
    private static let maximumNames = 256

    private let threads: NIOThreadPool
    private let patience: Duration
    private let maximumNames: Int
    private let lookUp: @Sendable (String) -> [String]
    /// Who waits for a name that is looked up now, by number.
    private var running: [String: [Int: CheckedContinuation<[String], Never>]] = [:]
    private var numbers = 0

    /// - Parameters:
    ///   - threads: Where lookups wait; they are started.
    ///   - patience: How long one who asks waits. The lookup goes on, for nothing can end it.
    ///   - maximumNames: The most names that are looked up, or wait for a thread.
    ///   - lookUp: The addresses of a name, empty if there is none.
    init(
        on threads: NIOThreadPool,
        patience: Duration = .seconds(5),
        maximumNames: Int = NameLookups.maximumNames,
        lookUp: @escaping @Sendable (String) -> [String]
    ) {
        self.threads = threads
        self.patience = patience
        self.maximumNames = maximumNames
        self.lookUp = lookUp
    }

    /// The addresses of a name; none where the system knows none, does not answer in time, or is asked for too many.
    func addresses(of host: String, by deadline: ContinuousClock.Instant) async -> [String] {
        if self.running[host] == nil {
            guard self.running.count < self.maximumNames else { return [] }
            self.running[host] = [:]
            self.start(host)
        }
        self.numbers += 1
        let (number, end) = (self.numbers, min(deadline, .now + self.patience))
        let watch = Task {
            try await Task.sleep(until: end, clock: .continuous)
            self.running[host]?.removeValue(forKey: number)?.resume(returning: [])
        }
        defer { watch.cancel() }
        return await withCheckedContinuation { self.running[host, default: [:]][number] = $0 }
    }

    private func start(_ host: String) {
        let (threads, lookUp) = (self.threads, self.lookUp)
        Task {
            // It fails where the threads were ended: then there is no answer either.
            let found = (try? await threads.runIfActive { lookUp(host) }) ?? []
            let waiting = self.running.removeValue(forKey: host) ?? [:]
            for waiter in waiting.values { waiter.resume(returning: found) }
        }
    }
}
