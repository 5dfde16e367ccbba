import Foundation

@testable import PushlineClient

/// A folder that is removed with its last owner.
final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "pushline-client-\(UUID().uuidString)")

    init() { try? FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: self.url) }
}

/// A clock that a test sets.
///
/// Unchecked: `moment` is guarded by `lock`.
final class SettableClock: @unchecked Sendable {
    private let lock = NSLock()
    private var moment = Date(timeIntervalSince1970: 1_795_249_800)

    var now: Date { self.lock.withLock { self.moment } }

    func advance(by seconds: TimeInterval) { self.lock.withLock { self.moment += seconds } }
}

/// Answers as a server that takes every registration, and counts requests and how many there were at a time.
actor CountingTransport: HTTPTransport {
    private(set) var count = 0
    private(set) var most = 0
    private var now = 0

    func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
        self.count += 1
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in 0..<10 { await Task.yield() }
        self.now -= 1
        return request.method == "POST" ? .json(#""id1""#) : HTTPAnswer(status: 200)
    }
}

/// Holds whoever passes until it is opened.
actor Gate {
    private var isOpen = false
    private var wasReached = false
    private var held: [CheckedContinuation<Void, Never>] = []
    private var watchers: [CheckedContinuation<Void, Never>] = []

    func pass() async {
        self.wasReached = true
        for watcher in self.watchers { watcher.resume() }
        self.watchers = []
        guard !self.isOpen else { return }
        await withCheckedContinuation { self.held.append($0) }
    }

    /// Returns when somebody is held.
    func isReached() async {
        guard !self.wasReached else { return }
        await withCheckedContinuation { self.watchers.append($0) }
    }

    func open() {
        self.isOpen = true
        for one in self.held { one.resume() }
        self.held = []
    }
}
