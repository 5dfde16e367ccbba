package import HTTPTypes
import PushModel

/// What a request's `Expect` asks for.
package enum Expectation: Sendable {
    case nothing
    /// The body comes when it is asked for (`100-continue`).
    case goAhead
    case unknown

    /// - Parameter values: The elements of the header.
    init(_ values: some Sequence<some StringProtocol>) {
        self = .nothing
        for value in values where !value.isEmpty {
            guard value.lowercased() == "100-continue" else {
                self = .unknown
                return
            }
            self = .goAhead
        }
    }

    init(_ headers: HTTPFields) {
        guard let text = headers.text(of: .expect) else {
            self = .nothing
            return
        }
        self.init(text.split(separator: ",").map { $0.trimming() })
    }

    /// Refuses what cannot be met.
    ///
    /// - Throws: ``Problem`` 417.
    package static func check(_ headers: HTTPFields) throws {
        guard Expectation(headers) == .unknown else { return }
        throw Problem(.expectationFailed, "Expect: only 100-continue is supported")
    }
}
