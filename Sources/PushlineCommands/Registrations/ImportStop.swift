import Dispatch
import Foundation
import Synchronization

/// Says how far an import has come when SIGINT or SIGTERM ends it.
final class ImportStop: Sendable {
    /// So many lines from the beginning are done.
    private let lines: Atomic<Int>

    init(lines: Int) { self.lines = Atomic(lines) }

    func update(lines: Int) { self.lines.store(lines, ordering: .relaxed) }

    /// Waits for the signals; they end the process until the sources are let go.
    func sources() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { number in
            // Else the signal's own action comes first.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                Console.note(self.words)
                exit(128 + number)
            }
            source.resume()
            return source
        }
    }

    /// What is done, and how to go on.
    var words: String {
        let done = self.lines.load(ordering: .relaxed)
        return "\npushline: stopped; \(done) lines are done, go on with --from-line \(done + 1)"
    }
}
