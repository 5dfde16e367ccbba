import Dispatch
import Foundation
import Synchronization

/// Reports the progress of an import that SIGINT or SIGTERM ends.
final class ImportStop: Sendable {
    /// The number of lines done, from the beginning.
    private let lines: Atomic<Int>

    init(lines: Int) { self.lines = Atomic(lines) }

    func update(lines: Int) { self.lines.store(lines, ordering: .relaxed) }

    /// Handles the signals, which end the process, as long as the sources exist.
    func sources() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { number in
            // Otherwise the signal's default action comes first.
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

    /// The progress, and how to continue.
    var words: String {
        let done = self.lines.load(ordering: .relaxed)
        return "\npushline: stopped; \(done) lines are done, go on with --from-line \(done + 1)"
    }
}
