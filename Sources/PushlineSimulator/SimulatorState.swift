import Foundation

/// What came in and what is to go wrong; guarded by one lock, so each member is quick.
struct SimulatorState {
    private(set) var faults: [(id: Int, fault: SimulatorFault)] = []
    private var nextFault = 1
    var journal: Journal

    init(keep: Int) {
        self.journal = Journal(keep: keep)
    }

    mutating func add(_ fault: SimulatorFault) -> Int {
        let id = self.nextFault
        self.nextFault += 1
        self.faults.append((id, fault))
        return id
    }

    mutating func clearFaults() {
        self.faults = []
    }

    mutating func reset() {
        self.faults = []
        self.journal.clear()
    }

    /// The fault that hits this request, used up by one where it has a count.
    ///
    /// The oldest that matches wins; a mere delay or change of settings goes before one that answers.
    mutating func takeFault(
        for pns: SimulatedService,
        token: String,
        ofTokenEndpoint: Bool = false
    ) -> [SimulatorFault] {
        guard !self.faults.isEmpty else { return [] }
        var taken: [SimulatorFault] = []
        var index = 0
        while index < self.faults.count {
            let fault = self.faults[index].fault
            guard fault.matches(pns, token: token, ofTokenEndpoint: ofTokenEndpoint),
                fault.share >= 1 || Double.random(in: 0..<1) < fault.share
            else {
                index += 1
                continue
            }
            taken.append(fault)
            if let count = fault.count {
                if count <= 1 {
                    self.faults.remove(at: index)
                    index -= 1
                } else {
                    self.faults[index].fault.count = count - 1
                }
            }
            if fault.decidesAnswer { break }
            index += 1
        }
        return taken
    }
}

extension SimulatorFault {
    /// Whether nothing after it can matter.
    var decidesAnswer: Bool {
        switch self.action {
        case .delay, .settings: false
        default: true
        }
    }

    func matches(_ pns: SimulatedService, token: String, ofTokenEndpoint: Bool) -> Bool {
        if let wanted = self.pns, wanted != pns { return false }
        if case .tokenEndpoint = self.action {
            return ofTokenEndpoint && pns != .apns
        }
        if ofTokenEndpoint { return false }
        if case .answer(let reason?, _, _, _) = self.action, FaultAnswers.status(of: reason, for: pns) == nil {
            // Another service's reason; where the fault names its service, any reason goes.
            if self.pns == nil { return false }
        }
        guard let wanted = self.token else { return true }
        return tokenMatches(token, wanted: wanted, pns: pns)
    }
}

/// Whole or its end; APNs tokens in any letter case.
func tokenMatches(_ token: String, wanted: String, pns: SimulatedService) -> Bool {
    pns == .apns ? token.lowercased().hasSuffix(wanted.lowercased()) : token.hasSuffix(wanted)
}
