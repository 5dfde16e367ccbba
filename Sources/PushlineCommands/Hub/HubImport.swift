import Foundation
import HubAzure
import HubWire
import PushModel
import PushlineClient

/// Copies the registrations of a hub into an app, page by page.
///
/// The progress is written after each group of pages that the server has taken: whoever dies in between reads that group again,
/// and an import of the same lines changes nothing.
struct HubImport {
    /// Reads the page at a place; nil = the first.
    typealias Reading = @Sendable (String?) async throws(AzureHubError) -> AzurePage<WireRegistration>

    private let hub: Reading
    private let client: PushlineClient
    private let file: HubImportProgress.File
    private var progress: HubImportProgress
    private var seen = HubImportDevices()
    private var pages = HubImportPages()
    private var known: HubImportDevices?
    /// Whether the next page is where a run before this one ended.
    private var isResuming: Bool
    /// Whether runs before this one have written devices, which the app then has.
    private let isContinued: Bool
    /// How many registrations the runs before this one read.
    private var before: Int
    private var shown = ProgressLine(of: "registration")

    /// So many lines are written together, or those of so much time.
    private static let group = 2000
    private static let groupTime = Duration.seconds(5)
    private static let longestWait = Duration.seconds(300)
    private static let tries = 10

    init(hub: @escaping Reading, client: PushlineClient, progress: HubImportProgress, file: HubImportProgress.File) {
        self.hub = hub
        self.client = client
        self.progress = progress
        self.file = file
        self.isResuming = progress.continuation != nil
        self.isContinued = progress.continuation != nil
        self.before = progress.read
    }

    /// Why it did not come to its end; what was copied until then stays.
    struct Stopped: Error {
        let words: String
        /// Whether the hub said 400.
        var isBadRequest = false
    }

    /// Learns which devices the app has, so that they are left out.
    ///
    /// - Throws: `PushlineError`.
    mutating func learnKnown() async throws {
        var known = HubImportDevices()
        try await self.client.exportRegistrations { piece in
            for line in piece.lines.split(separator: UInt8(ascii: "\n")) { known.add(exported: Array(line)) }
        }
        self.known = known
    }

    /// Copies until there is no further page.
    ///
    /// - Returns: What became of all of them.
    /// - Throws: ``Stopped``.
    mutating func run() async throws -> HubImportProgress {
        self.shown = ProgressLine(of: "registration")
        defer { self.shown.end() }
        repeat {
            var lines = HubImportLines()
            let end = ContinuousClock.now + Self.groupTime
            repeat {
                let page = try await self.nextPage()
                if let fault = self.pages.fault(of: page) {
                    throw Stopped(words: "the hub: \(fault), so its list would have no end")
                }
                self.add(page, to: &lines)
                self.progress.continuation = page.continuation
                // A hub does not say how many there are.
                self.shown.show(self.progress.read - self.before, share: nil)
            } while self.progress.continuation != nil && lines.count < Self.group && ContinuousClock.now < end
            try await self.write(lines)
            if self.progress.continuation != nil { try self.file.write(self.progress) }
        } while self.progress.continuation != nil
        try self.file.remove()
        return self.progress
    }

    private mutating func add(_ page: AzurePage<WireRegistration>, to lines: inout HubImportLines) {
        self.progress.read += page.items.count + page.unreadable
        self.progress.skip(.unreadable, page.unreadable)
        for registration in page.items {
            switch HubImportLines.line(of: registration, now: .now) {
            case .failure(let reason): self.progress.skip(reason)
            case .success(let line):
                // A device that a run before this one has written is known, and its templates may have been left for this one.
                let mayBeLeft = line.template != nil && self.isContinued
                if self.known?.has(line.pns, line.handle) == true, !mayBeLeft {
                    self.progress.skip(.known)
                    continue
                }
                if !self.seen.add(line.pns, line.handle, line.template) { self.progress.repeated += 1 }
                if line.hadPushVariables { self.progress.withoutPushVariables += 1 }
                lines.add(line)
            }
        }
    }

    /// The next page; the first one of all where the hub no longer knows the place at which a run before this one ended.
    private mutating func nextPage() async throws -> AzurePage<WireRegistration> {
        let isResuming = self.isResuming
        self.isResuming = false
        do {
            return try await self.page(self.progress.continuation)
        } catch let stopped as Stopped where isResuming && stopped.isBadRequest {
            self.shown.end()
            Console.note("\(stopped.words); the place where the last run ended may be too old: starting over")
        }
        // What is read again changes nothing, and is counted from the beginning.
        self.progress = HubImportProgress(from: self.progress.from, to: self.progress.to)
        self.before = 0
        self.pages = HubImportPages()
        return try await self.page(nil)
    }

    /// A page; waits and tries again where the hub is busy or does not answer.
    private mutating func page(_ continuation: String?) async throws -> AzurePage<WireRegistration> {
        var attempt = 0
        while true {
            do { return try await self.hub(continuation) } catch {
                attempt += 1
                guard [.retryLater, .throttled, .unanswered].contains(error.kind), attempt < Self.tries else {
                    throw Stopped(
                        words: "the hub: \(Console.safe(error.description))",
                        isBadRequest: error.status == 400
                    )
                }
                let pause = Duration.seconds(min(60, Double(1 << min(attempt, 6))) * .random(in: 0.5...1))
                let wait = max(error.retryAfter ?? .zero, pause)
                guard wait <= Self.longestWait else {
                    throw Stopped(
                        words: "the hub asks to wait \(wait.components.seconds) s: \(Console.safe(error.description))"
                    )
                }
                self.shown.end()
                Console.note(
                    "the hub: \(Console.safe(error.message)); trying again in \(wait.components.seconds + 1) s"
                )
                try await Task.sleep(for: wait)
            }
        }
    }

    /// Gives the lines to the server, the way any import goes.
    private mutating func write(_ lines: HubImportLines) async throws {
        guard lines.count > 0 else { return }
        var rest: Data? = lines.text
        do {
            let summary = try await self.client.importRegistrations(from: {
                defer { rest = nil }
                return rest
            })
            self.progress.add(summary, lines)
        } catch let interrupted as ImportInterrupted {
            throw Stopped(words: "\(Console.safe(interrupted.cause.message))\(Advice.after(interrupted.cause))")
        }
    }
}

/// Devices and their templates, by little of each: ten million of them take some 200 MB.
struct HubImportDevices {
    private var hashes: Set<Int> = []

    /// - Returns: false when it was there already.
    mutating func add(_ pns: String, _ handle: String, _ template: String? = nil) -> Bool {
        self.hashes.insert(Self.hash(pns, handle, template)).inserted
    }

    /// Adds the device of a line of an export.
    mutating func add(exported line: [UInt8]) {
        guard case .object(let members)? = try? JSONReader.read(line),
            case .string(let pns)? = members.first(where: { $0.name == "service" })?.value,
            case .string(let handle)? = members.first(where: { $0.name == "handle" })?.value
        else { return }
        _ = self.add(pns, handle)
    }

    func has(_ pns: String, _ handle: String) -> Bool { self.hashes.contains(Self.hash(pns, handle)) }

    private static func hash(_ pns: String, _ handle: String, _ template: String? = nil) -> Int {
        var hasher = Hasher()
        hasher.combine(pns)
        // A hub shows tokens of APNs in capitals.
        hasher.combine(pns == PushService.apns.rawValue ? handle.lowercased() : handle)
        hasher.combine(template)
        return hasher.finalize()
    }
}
