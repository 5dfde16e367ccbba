package import PushModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a process says of itself every few seconds, for people: nothing is decided by it.
///
/// Whoever has the broker's password can write one, in any process's name. So what is read is clamped to what can be true.
package struct ProcessReport: Sendable, Equatable, Codable {
    /// A breaker that is open.
    package struct Breaker: Sendable, Equatable, Codable {
        package var app: AppID
        /// A push service, or `hub`.
        package var service: String
        /// nil = the default one.
        package var credential: String?
        package var reason: String

        package init(app: AppID, service: String, credential: String?, reason: String) {
            self.app = app
            self.service = service
            self.credential = credential
            self.reason = reason
        }
    }

    /// A credential that its push service, or the app's hub, refuses.
    package struct Refusal: Sendable, Equatable, Codable {
        package var app: AppID
        /// A push service, or `hub`.
        package var service: String
        /// nil = the default one.
        package var credential: String?
        /// The service's word.
        package var reason: String
        /// When it was refused first since it was taken last.
        package var since: Timestamp

        package init(app: AppID, service: String, credential: String?, reason: String, since: Timestamp) {
            self.app = app
            self.service = service
            self.credential = credential
            self.reason = reason
            self.since = since
        }
    }

    /// A credential that ends soon, or has ended.
    package struct Ending: Sendable, Equatable, Codable {
        /// nil = it is the process's own, such as the certificate that it serves with.
        package var app: AppID?
        /// The setting that names it.
        package var setting: String
        package var end: Timestamp

        package init(app: AppID?, setting: String, end: Timestamp) {
            self.app = app
            self.setting = setting
            self.end = end
        }
    }

    /// Of this run of the process.
    package var id: String
    /// As in metrics: `api`, `delivery-worker`.
    package var role: String
    package var host: String
    package var pid: Int
    package var version: String
    /// Where it answers `/healthz`; nil = nowhere yet.
    package var port: Int?
    /// Bytes in the machine's memory; nil where the system does not tell.
    package var memory: Int?
    /// Messages that it works on, by the app's name, of apps that have some; nil = it takes none from the queues.
    package var work: [String: Int]?
    package var breakers: [Breaker] = []
    package var refusals: [Refusal] = []
    package var endings: [Ending] = []
    /// Whether nothing was left out for want of room.
    package var isComplete = true
    /// Whether it is the last one: the process ends in order.
    package var isLast = false

    package init(id: String, role: String, host: String, pid: Int, version: String) {
        self.id = id
        self.role = role
        self.host = host
        self.pid = pid
        self.version = version
    }

    /// The time between two of them.
    package static let interval = Duration.seconds(5)
    /// Bytes of one, at most.
    package static let maximumSize = 2048
    private static let mostListed = 20
    /// The last millisecond that has a year of four digits.
    private static let lastMoment: Int64 = 253_402_300_799_999
}

// MARK: - Writing and reading

extension ProcessReport {
    /// As JSON of at most ``maximumSize`` bytes: what does not fit is left out, as ``isComplete`` says.
    package func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        var report = self.clamped
        while true {
            let bytes = Array(try encoder.encode(report))
            guard bytes.count > Self.maximumSize, report.shorten() else { return bytes }
        }
    }

    /// What was published, clamped; nil where it is no report.
    package init?(_ body: [UInt8]) {
        guard body.count <= Self.maximumSize, let read = try? JSONDecoder().decode(Self.self, from: Data(body)),
            !read.id.isEmpty
        else { return nil }
        self = read.clamped
    }

    /// Leaves out one entry of the longest list; false where there is none.
    private mutating func shorten() -> Bool {
        let work = self.work?.count ?? 0
        guard max(work, self.breakers.count, self.refusals.count, self.endings.count) > 0 else { return false }
        self.isComplete = false
        // An app's work takes a quarter of what others take.
        let longest = max(1, work / 4, self.breakers.count, self.refusals.count, self.endings.count)
        if self.breakers.count == longest {
            self.breakers.removeLast()
        } else if self.refusals.count == longest {
            self.refusals.removeLast()
        } else if self.endings.count == longest {
            self.endings.removeLast()
        } else {
            self.work = self.work.map { Self.largest(work - 1, of: $0) }
        }
        return true
    }

    private var clamped: ProcessReport {
        var report = self
        report.id = self.id.shown(octets: 40)
        report.role = self.role.shown(octets: 24)
        report.host = self.host.shown(octets: 100)
        report.version = self.version.shown(octets: 40)
        report.pid = min(max(0, self.pid), Int(Int32.max))
        report.port = self.port.flatMap { (1...65_535).contains($0) ? $0 : nil }
        report.memory = self.memory.map { min(max(0, $0), 1 << 50) }
        report.work = self.work.map { work in
            Self.largest(Self.mostListed, of: work.filter { (try? AppID($0.key)) != nil }).mapValues {
                min(max(0, $0), Int(Int32.max))
            }
        }
        report.breakers = self.breakers.prefix(Self.mostListed).map { breaker in
            Breaker(
                app: breaker.app,
                service: breaker.service.shown(octets: 16),
                credential: breaker.credential?.shown(octets: 40),
                reason: breaker.reason.shown(octets: 200)
            )
        }
        report.refusals = self.refusals.prefix(Self.mostListed).map { refusal in
            Refusal(
                app: refusal.app,
                service: refusal.service.shown(octets: 16),
                credential: refusal.credential?.shown(octets: 40),
                reason: refusal.reason.shown(octets: 200),
                since: Self.clamped(refusal.since)
            )
        }
        report.endings = self.endings.prefix(Self.mostListed).map { ending in
            Ending(app: ending.app, setting: ending.setting.shown(octets: 80), end: Self.clamped(ending.end))
        }
        let isShorter =
            (report.work?.count, report.breakers.count, report.refusals.count, report.endings.count)
            != (self.work?.count, self.breakers.count, self.refusals.count, self.endings.count)
        report.isComplete = self.isComplete && !isShorter
        return report
    }

    private static func clamped(_ moment: Timestamp) -> Timestamp {
        Timestamp(milliseconds: min(max(0, moment.milliseconds), Self.lastMoment))
    }

    private static func largest(_ count: Int, of work: [String: Int]) -> [String: Int] {
        guard work.count > count else { return work }
        let sorted = work.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return Dictionary(uniqueKeysWithValues: sorted.prefix(count).map { ($0.key, $0.value) })
    }
}

extension String {
    /// What of a text is shown of somebody who may have forged it: no controls and no marks that turn a line around, and no more
    /// than so many octets.
    fileprivate func shown(octets: Int) -> String {
        let scalars = self.unicodeScalars.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
            default: true
            }
        }
        return String(String.UnicodeScalarView(scalars)).beginning(octets: octets)
    }
}
