import AsyncHTTPClient
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
    private let timeout: Duration

    /// - Parameters:
    ///   - place: The file or address.
    ///   - timeout: How long a fetch may take, connection and answer together.
    package init(_ place: TokenSettings.KeySetPlace, timeout: Duration = .seconds(5)) {
        self.place = place
        self.timeout = timeout
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
        // It follows no redirects: where keys come from decides who is let in, and nobody else may name another place.
        let (timeout, setup) = (self.timeout, HTTPClient.Configuration.outgoing(trustFile: trustFile))
        do {
            return try await withThrowingTaskGroup(of: [UInt8].self) { group in
                group.addTask {
                    try await HTTPClient.withHTTPClient(configuration: setup) { try await Self.document(url, $0) }
                }
                // The client's own deadline ends with the headers.
                group.addTask {
                    try await Task.sleep(for: timeout)
                    throw KeySetFault("gave no complete answer within \(timeout)")
                }
                defer { group.cancelAll() }
                return try await group.next() ?? []
            }
        } catch let fault as KeySetFault {
            throw fault
        } catch {
            let words = String(
                decoding: "\(error)".utf8.filter { (0x20...0x7E).contains($0) }.prefix(160),
                as: UTF8.self
            )
            throw KeySetFault("cannot be fetched: \(words)")
        }
    }

    private static func document(_ url: String, _ client: HTTPClient) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "Accept", value: "application/jwk-set+json, application/json")
        let response = try await client.execute(request, deadline: .distantFuture)
        guard response.status == .ok else {
            let isGone = response.status == .notFound || response.status == .gone
            throw KeySetFault("answers \(response.status.code) instead of 200", isGone: isGone)
        }
        do {
            return Array(buffer: try await response.body.collect(upTo: Self.maximumSize))
        } catch is NIOTooManyBytesError {
            throw KeySetFault("is larger than 256 KiB")
        }
    }
}
