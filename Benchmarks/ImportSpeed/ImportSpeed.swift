import Foundation
import Installation
import Logging
import PushModel
import ServiceLifecycle
import Settings
import Store

/// Imports registrations into an empty store, without HTTP: each with a user and two tags.
///
/// Its arguments: how many, and the order of the users (`ascending` or `random`). Where the store is, the programs' variables say. It prints
/// a line of JSON.
@main
enum ImportSpeed {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let rows = Int(arguments[1]), let order = Order(rawValue: arguments[2]) else {
            print("usage: ImportSpeed ROWS ascending|random")
            exit(2)
        }
        let configuration = try PushlineConfiguration(file: nil)
        let store = try await Composition.store(configuration).open(logger: Logger(label: "import"))
        let measurement = Measurement(store: store, file: configuration.store.path, rows: rows, order: order)
        // The store's own service moves the log into the file meanwhile, as in the API's process.
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: store),
                    .init(service: measurement, successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                logger: Logger(label: "import")
            )
        )
        try await group.run()
    }
}

/// The order in which the users of the rows come.
private enum Order: String {
    case ascending, random
}

private struct Measurement: Service {
    let store: any ResultStore
    /// nil = the store is at servers.
    let file: String?
    let rows: Int
    let order: Order

    /// As many as the API gives the store at a time.
    private static let group = 32_768

    func run() async throws {
        let sequence = try await self.store.importRegistrations([], app: .default, sequence: nil, lifetime: nil)
            .sequence
        let start = ContinuousClock.now
        var next = try self.group(at: 0)
        var log = 0
        while !next.isEmpty {
            let (now, from) = (next, sequence)
            async let imported = self.store.importRegistrations(now.rows, app: .default, sequence: from, lifetime: nil)
            next = try self.group(at: now.end)
            guard try await imported.results.allSatisfy({ $0 == .created }) else {
                throw StoreError(.conflict, "a registration was there already")
            }
            log = max(log, try self.size(of: "-wal") ?? 0)
        }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        let sizes = try self.size(of: "").map { #", "log_mb": \#(log / 1_000_000), "file_mb": \#($0 / 1_000_000)"# }
        print(
            """
            {"rows": \(self.rows), "users": "\(self.order.rawValue)", "seconds": \(seconds), \
            "rows_per_s": \(Int(Double(self.rows) / seconds))\(sizes ?? "")}
            """
        )
    }

    private struct Group {
        let rows: [ImportedRegistration]
        let end: Int
        var isEmpty: Bool { self.rows.isEmpty }
    }

    private func group(at start: Int) throws -> Group {
        let end = min(start + Self.group, self.rows)
        let tags = [try Tag("everyone", .folded), try Tag("beta", .folded)]
        let rows = try (start..<end).map { number in
            let user = self.order == .ascending ? UInt64(number) : Self.scatter(UInt64(number)) % 10_000_000_000
            let digits = String(user)
            return ImportedRegistration(
                pns: .apns,
                handle: Handle(stored: Self.token(UInt64(number))),
                user: try UserName("user" + String(repeating: "0", count: 10 - digits.count) + digits, .folded),
                tags: tags
            )
        }
        return Group(rows: rows, end: end)
    }

    /// A token of 64 hexadecimal digits, the same in every run.
    private static func token(_ number: UInt64) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return unsafe String(unsafeUninitializedCapacity: 64) { buffer in
            for word in 0..<4 {
                var bits = Self.scatter(number &* 4 &+ UInt64(word))
                for digit in 0..<16 {
                    unsafe buffer[16 * word + digit] = digits[Int(bits & 15)]
                    bits >>= 4
                }
            }
            return 64
        }
    }

    /// SplitMix64: every number has another, and neighbours have nothing in common.
    private static func scatter(_ number: UInt64) -> UInt64 {
        var bits = number &+ 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// The bytes of the store's file, or of one beside it.
    private func size(of ending: String) throws -> Int? {
        guard let file else { return nil }
        let attributes = try FileManager.default.attributesOfItem(atPath: file + ending)
        return (attributes[.size] as? NSNumber)?.intValue
    }
}
