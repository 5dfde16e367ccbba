import Foundation

@testable import PushlineClient

/// Answers requests from a list, and remembers them.
actor ScriptedTransport: HTTPTransport {
    private var answers: [@Sendable () async throws -> HTTPAnswer]
    private(set) var requests: [HTTPRequest] = []

    init(_ answers: [@Sendable () async throws -> HTTPAnswer]) { self.answers = answers }

    init(_ answers: HTTPAnswer...) { self.init(answers: answers) }

    init(answers: [HTTPAnswer]) { self.answers = answers.map { answer in { answer } } }

    func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
        self.requests.append(request)
        guard !self.answers.isEmpty else { return HTTPAnswer(status: 599) }
        return try await self.answers.removeFirst()()
    }

    /// Method and path with query of what was asked.
    var lines: [String] {
        self.requests.map { "\($0.method) \($0.url.absoluteString.dropFirst("http://host:1".count))" }
    }
}

extension HTTPAnswer {
    static func json(_ text: String, status: Int = 200, headers: [String: String] = [:]) -> HTTPAnswer {
        HTTPAnswer(status: status, headers: headers, body: Data(text.utf8))
    }
}

func client(
    _ transport: any HTTPTransport,
    app: String? = nil,
    credentials: PushlineClient.Credentials = .key("plk_x"),
    deadline: Duration = .seconds(10)
) throws -> PushlineClient {
    guard let url = URL(string: "http://host:1/") else { throw URLError(.badURL) }
    return PushlineClient(url: url, app: app, credentials: credentials, deadline: deadline, transport: transport)
}

let jobText = """
    {"id":"0190-x","href":"/api/jobs/0190-x","app":"default","kind":"send","state":"STATE","isFinal":FINAL,
    "key":"backend","priority":"normal","accepted":"2026-11-21T08:30:00.123Z",
    "expires":"2026-11-22T08:30:00.123Z","to":["username:ann"],
    "counts":{"apns":{"targets":2,"accepted":1,"failed":{"unregistered":1},"expired":0,"cancelled":0,"open":0}},
    "totals":{"targets":2,"accepted":1,"failed":{"unregistered":1},"expired":0,"cancelled":0,"open":0},
    "progress":1.0,"a member of a later version":[1]}
    """

func job(_ state: String, isFinal: Bool) -> HTTPAnswer {
    .json(jobText.replacingOccurrences(of: "STATE", with: state).replacingOccurrences(of: "FINAL", with: "\(isFinal)"))
}
