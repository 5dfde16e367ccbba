import HTTP2Engine
import PushModel

/// The results of one send so far, and the devices that may be tried once more.
struct SendRound {
    /// Positions in ``PushRequest/indexes`` that are still to be tried.
    private(set) var open: [Int]

    private let sent = Timestamp.now
    private var outcomes: [DeviceResult]
    /// Answers that a second try may better, by position.
    private var hopes: [AnswerClass: [Int]] = [:]

    init(_ batch: PushRequest) {
        self.outcomes = Array(repeating: .unsent, count: batch.indexes.count)
        self.open = Array(batch.indexes.indices)
    }

    /// Whether some answers were of that class.
    func wants(_ answer: AnswerClass) -> Bool { self.hopes[answer]?.isEmpty == false }

    /// Lets devices with such an answer be tried once more; if that is never sent, they are left for a later attempt.
    mutating func repeatWhere(_ answer: AnswerClass) {
        let positions = self.hopes.removeValue(forKey: answer) ?? []
        for position in positions {
            let reason = "tried once more: \(answer.rawValue)"
            self.outcomes[position] = .retry(after: nil, scope: .sender, counts: false, reason: reason, status: nil)
        }
        self.open += positions
    }

    /// Takes the outcomes of one try.
    ///
    /// - Parameters:
    ///   - outcomes: The outcomes.
    ///   - positions: Their positions.
    ///   - read: Reads the service's answers.
    mutating func take(_ outcomes: [HTTP2Outcome], at positions: [Int], _ read: (HTTP2Response) -> Answer) {
        for (outcome, position) in zip(outcomes, positions) {
            switch outcome {
            case .response(let response) where response.status == 200: self.outcomes[position] = .accepted
            case .response(let response): self.take(read(response), at: position)
            case .notProcessed(let fault): self.put(fault.result, at: position)
            case .unanswered(let fault): self.outcomes[position] = fault.result
            }
        }
        self.tried()
    }

    mutating func take(_ answer: Answer, at position: Int) {
        if answer.answer == .credential || answer.answer == .connection {
            self.hopes[answer.answer, default: []].append(position)
        }
        self.outcomes[position] = answer.result(sent: self.sent)
    }

    /// A second try that never left does not undo the first one's answer.
    mutating func put(_ result: DeviceResult, at position: Int) {
        if case .unsent = result, self.outcomes[position] != .unsent { return }
        self.outcomes[position] = result
    }

    /// Ends one try of all that was open.
    mutating func tried() { self.open = [] }

    /// Gives the same result to all that is open and `isMeant`.
    mutating func fail(_ result: DeviceResult, where isMeant: (Int) -> Bool) {
        for position in self.open where isMeant(position) { self.outcomes[position] = result }
        self.open.removeAll(where: isMeant)
    }

    /// Gives all that is open the same result.
    mutating func endAll(_ result: DeviceResult) {
        for position in self.open { self.outcomes[position] = result }
        self.open = []
    }

    func results() -> [DeviceResult] { self.outcomes }
}
