import Dispatch
import Foundation
import PushModel
import Testing
import WorkCost

/// Hostile inputs for the parsers of the wire: each file of `FuzzTesting/hub`, and what a mutator makes of them.
///
/// `deploy/fuzz` sets `PUSHLINE_FUZZ_SEED`, `PUSHLINE_FUZZ_EXAMPLES` and `PUSHLINE_FUZZ_LAST`, a folder for each parser's last input, which
/// tells of a crash. An input that breaks something goes into the folder
/// of its parser, and is a test from then on.
@Suite("Parsers under hostile input", .timeLimit(.minutes(60)))
struct FuzzTests {
    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "FuzzTesting/hub")

    private static func setting(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
    }

    private static func corpus(_ parser: FuzzedParser) throws -> [(name: String, input: [UInt8])] {
        let folder = self.folder.appending(path: parser.rawValue)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map {
            ($0, [UInt8](try Data(contentsOf: folder.appending(path: $0))))
        }
    }

    @Test("Nothing breaks a parser, and what it takes it writes as it was", arguments: FuzzedParser.allCases)
    func hostileInput(parser: FuzzedParser) throws {
        let corpus = try Self.corpus(parser)
        var taken = 0
        for (name, input) in corpus {
            do { if try Self.run(parser, input) { taken += 1 } } catch {
                Issue.record("\(parser.rawValue)/\(name): \(error)")
            }
        }
        #expect(taken > 0, "a corpus of which nothing is read proves nothing")
        let seed = Self.setting("PUSHLINE_FUZZ_SEED") ?? 1
        let count = Self.setting("PUSHLINE_FUZZ_EXAMPLES") ?? 1000
        var mutator = Mutator(corpus.map(\.input), longest: parser.longest, seed: seed)
        taken = 0
        for number in 0..<count {
            let input = mutator.next()
            do {
                guard try Self.run(parser, input) else { continue }
                taken += 1
                mutator.keep(input)
            } catch {
                let text = Data(input).base64EncodedString()
                Issue.record(
                    "\(parser.rawValue), seed \(seed), input \(number): \(error); its bytes in base64: \(text)"
                )
                return
            }
        }
        #expect(taken > 0)
        if let peak = Self.peakMemory { #expect(peak < 1 << 30, "\(peak) bytes of memory") }
        print("\(parser.rawValue): \(count) inputs of seed \(seed), \(taken) were read")
    }

    /// The most memory that the process ever had, in bytes; nil where the system does not say.
    private static var peakMemory: Int? {
        let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
    }

    /// The longest that reading one input may take, in a debug build on a busy machine; whoever takes longer hangs.
    private static let limit = 30.0

    private static let last = ProcessInfo.processInfo.environment["PUSHLINE_FUZZ_LAST"].map { URL(filePath: $0) }

    private static func run(_ parser: FuzzedParser, _ input: [UInt8]) throws -> Bool {
        if let last = self.last { try Data(input).write(to: last.appending(path: parser.rawValue)) }
        // Whoever hangs cannot say so: the process ends, and the input is told.
        let watch = DispatchSource.makeTimerSource(queue: .global())
        watch.setEventHandler {
            fatalError("\(parser.rawValue) hangs at this input, in base64: \(Data(input).base64EncodedString())")
        }
        watch.schedule(deadline: .distantFuture)
        watch.resume()
        defer { watch.cancel() }
        var isTaken = false
        let most = WorkCost.mostPasses * parser.readings
        let passes = try WorkCost.passes(over: input, upTo: most) {
            watch.schedule(deadline: .now() + self.limit)
            isTaken = try parser.check(input)
        }
        guard passes <= most else {
            throw FuzzedParser.Broken("it costs \(passes) plain passes over its \(input.count) bytes")
        }
        return isTaken
    }
}
