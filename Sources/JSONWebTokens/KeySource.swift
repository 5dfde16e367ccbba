import AsyncHTTPClient
package import Logging
import NIOCore
import NIOHTTP1
import OutgoingHTTP
package import PushModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads an issuer's key set from where the app's declaration says.
package struct KeySource: Sendable {
    /// More than any issuer's key set, with the certificates that some add.
    static let maximumSize = 256 * 1024

    private let place: TokenSettings.KeySetPlace
    let timeout: Duration
    private let peer: Peer

    /// - Parameters:
    ///   - place: The file or address.
    ///   - timeout: How long a fetch may take, connection and answer together.
    ///   - logger: For fetches that stop.
    package init(_ place: TokenSettings.KeySetPlace, timeout: Duration = .seconds(5), logger: Logger) {
        self.place = place
        self.timeout = timeout
        self.peer = Peer(.keys, logger: logger)
    }

    /// - Returns: The document.
    /// - Throws: ``KeySetFault``.
    package func read() async throws(KeySetFault) -> [UInt8] {
        switch self.place {
        case .file(let path): try Self.content(of: path)
        case .address(let url, let trustFile): try await self.fetch(url, trustFile: trustFile)
        }
    }

    private static func content(of path: String) throws(KeySetFault) -> [UInt8] {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        if let size = attributes?[.size] as? UInt64, size > UInt64(Self.maximumSize) {
            throw KeySetFault("is larger than 256 KiB")
        }
        do {
            return Array(try Data(contentsOf: URL(filePath: path)))
        } catch {
            throw KeySetFault(
                "cannot be read; put it there, readable for the user that the API runs as",
                isGone: (error as? CocoaError)?.code == .fileReadNoSuchFile
            )
        }
    }

    /// With a client of its own: keys are fetched every few minutes, and nothing is to be closed when the process ends.
    private func fetch(_ url: String, trustFile: String?) async throws(KeySetFault) -> [UInt8] {
        let deadline = ContinuousClock.now + self.timeout
        let client = OutgoingClient {
            // It follows no redirects: where keys come from decides who is let in, and nobody else may name another place.
            HTTPClient(eventLoopGroupProvider: .singleton, configuration: .outgoing(trustFile: trustFile))
        }
        // Nobody waits for that: a connection that is being made does not end at once.
        defer { Task.detached { await client.close() } }
        let request = OutgoingRequest(
            .GET,
            url,
            headers: ["Accept": "application/jwk-set+json, application/json"],
            longestAnswer: Self.maximumSize
        )
        let answer: OutgoingAnswer
        do throws(NoAnswer) {
            answer = try await client.exchange(request, by: deadline, with: self.peer)
        } catch {
            throw KeySetFault(error.isStop ? self.late : "cannot be fetched: \(error)")
        }
        guard answer.status == 200 else {
            let isGone = answer.status == 404 || answer.status == 410
            throw KeySetFault("answers \(answer.status) instead of 200", isGone: isGone)
        }
        switch answer.body {
        case .whole(let document): return Array(buffer: document)
        case .tooLong: throw KeySetFault("is larger than 256 KiB")
        case .cut(let reason):
            throw KeySetFault(ContinuousClock.now >= deadline ? self.late : "cannot be fetched: its answer \(reason)")
        }
    }

    private var late: String { "gave no complete answer within \(self.timeout)" }
}
