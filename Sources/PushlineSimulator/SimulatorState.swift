import DequeModule
import PushModel

/// A fault and its hits.
struct InjectedFault {
    var id: Int
    var fault: SimulatorFault
    /// How many more it hits; nil = no end, 0 = used up or ended.
    var left: Int?
    var hits = 0
}

/// The received pushes and the injected faults; guarded by one lock, so each member is quick.
struct SimulatorState {
    /// Faults that can still hit, oldest first.
    private var live: [InjectedFault] = []
    /// The last faults that are used up.
    private var spent: Deque<InjectedFault> = []
    private var nextFault = 1
    var journal: Journal
    var topics = TokenTopics()
    /// Outlive a reset, as access tokens do.
    var channels = SimulatedChannels()

    private static let maximumSpent = 1000

    init(keep: Int) {
        self.journal = Journal(keep: keep)
    }

    /// All that were added and not forgotten, oldest first.
    var faults: [InjectedFault] {
        (self.spent + self.live).sorted { $0.id < $1.id }
    }

    mutating func add(_ fault: SimulatorFault) -> Int {
        let id = self.nextFault
        self.nextFault += 1
        self.live.append(InjectedFault(id: id, fault: fault, left: fault.count))
        return id
    }

    mutating func clearFaults() {
        self.live = []
        self.spent = []
    }

    /// Ends one fault, and keeps its hits.
    ///
    /// - Returns: Whether there is one with this id.
    mutating func endFault(_ id: Int) -> Bool {
        guard let index = self.live.firstIndex(where: { $0.id == id }) else {
            return self.spent.contains { $0.id == id }
        }
        self.spend(index)
        return true
    }

    private mutating func spend(_ index: Int) {
        var fault = self.live.remove(at: index)
        fault.left = 0
        if self.spent.count == Self.maximumSpent { self.spent.removeFirst() }
        self.spent.append(fault)
    }

    mutating func reset() {
        self.clearFaults()
        self.journal.clear()
        self.topics = TokenTopics()
    }

    /// The faults that hit this request or connection, used up by one where they have a count.
    ///
    /// The oldest that matches wins; a mere delay or change of settings goes before one that answers.
    mutating func takeFault(
        for pns: PushService,
        token: String,
        at point: FaultPoint = .push
    ) -> [SimulatorFault] {
        guard !self.live.isEmpty else { return [] }
        var taken: [SimulatorFault] = []
        var index = 0
        while index < self.live.count {
            let fault = self.live[index].fault
            guard fault.matches(pns, token: token, at: point),
                fault.share >= 1 || Double.random(in: 0..<1) < fault.share
            else {
                index += 1
                continue
            }
            taken.append(fault)
            index += self.hit(index) ? 0 : 1
            if fault.decidesAnswer { break }
        }
        return taken
    }

    /// Counts a hit.
    ///
    /// - Returns: Whether the fault is used up by it, and so gone.
    private mutating func hit(_ index: Int) -> Bool {
        self.live[index].hits += 1
        guard let left = self.live[index].left else { return false }
        self.live[index].left = left - 1
        if left <= 1 { self.spend(index) }
        return left <= 1
    }
}

/// Where faults hit.
enum FaultPoint {
    case push
    /// The management of channels.
    case channels
    case tokenEndpoint
    case connection
}

extension SimulatorFault {
    /// Where it hits.
    var point: FaultPoint {
        switch self.action {
        case .tokenEndpoint: .tokenEndpoint
        case .mute, .plain, .expiredCertificate: .connection
        default: .push
        }
    }

    /// Whether nothing after it can matter.
    var decidesAnswer: Bool {
        switch self.action {
        case .delay, .settings: false
        default: true
        }
    }

    func matches(_ pns: PushService, token: String, at point: FaultPoint) -> Bool {
        // A fault that names no token is one of pushes.
        if point == .channels { return self.point == .push && self.token == token }
        guard point == self.point else { return false }
        if let wanted = self.pns, wanted != pns { return false }
        if point != .push { return true }
        if case .answer(let reason?, _, _, _) = self.action, FaultAnswers.status(of: reason, for: pns) == nil {
            // Another service's reason; where the fault names its service, any reason goes.
            if self.pns == nil { return false }
        }
        guard let wanted = self.token else { return true }
        return tokenMatches(token, wanted: wanted, pns: pns)
    }
}

/// Whole or its end; hexadecimal ones in any letter case.
func tokenMatches(_ token: String, wanted: String, pns: PushService) -> Bool {
    pns.descriptor.handle.isHexadecimal
        ? token.lowercased().hasSuffix(wanted.lowercased()) : token.hasSuffix(wanted)
}
