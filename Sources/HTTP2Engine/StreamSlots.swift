import NIOCore

/// The slot of a stream, whose buffers later streams reuse.
struct StreamSlot {
    var stream: Int32 = 0
    /// nil once the request has its outcome.
    var run: HTTP2Run?
    /// Held until the stream has closed, for the session points into its headers.
    var retained: HTTP2Run?
    var index = 0
    var expires = NIODeadline.distantFuture
    var status = 0
    /// Whether the whole head of an answer is there, and not only the beginning of its frame.
    var hasHead = false
    var isComplete = false
    var isBodySent = false
    var headerBytes = 0
    var headers: [HTTP2Field] = []
    var body: [UInt8] = []
    var requestBody: [UInt8] = []
    var bodyOffset = 0

    /// Makes it ready for the next stream.
    fileprivate mutating func clear() {
        self.stream = 0
        self.run = nil
        self.retained = nil
        self.expires = .distantFuture
        self.status = 0
        self.hasHead = false
        self.isComplete = false
        self.isBodySent = false
        self.headerBytes = 0
        self.bodyOffset = 0
        self.requestBody.removeAll(keepingCapacity: true)
        if !self.headers.isEmpty { self.headers = [] }
        if !self.body.isEmpty { self.body = [] }
    }
}

/// The places of a connection's streams, as many as it may have open at once.
///
/// In memory of their own: an array in a class is checked for exclusive access each time it is touched, dozens of times a request.
@safe final class StreamSlots {
    private let base: UnsafeMutablePointer<StreamSlot>
    private let capacity: Int
    private var free: [Int] = []
    /// How many places were in use at once so far; only those are initialised.
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        unsafe self.base = .allocate(capacity: capacity)
    }

    deinit {
        unsafe self.base.deinitialize(count: self.count)
        unsafe self.base.deallocate()
    }

    var taken: Int { self.count - self.free.count }

    var indices: Range<Int> { 0..<self.count }

    subscript(slot: Int) -> StreamSlot {
        unsafeAddress {
            precondition(slot >= 0 && slot < self.count, "no such stream")
            return unsafe UnsafePointer(self.base + slot)
        }
        unsafeMutableAddress {
            precondition(slot >= 0 && slot < self.count, "no such stream")
            return unsafe self.base + slot
        }
    }

    /// A place for a stream, or nil when all are taken.
    func take() -> Int? {
        if let slot = self.free.popLast() { return slot }
        guard self.count < self.capacity else { return nil }
        unsafe (self.base + self.count).initialize(to: StreamSlot())
        self.count += 1
        return self.count - 1
    }

    func release(_ slot: Int) {
        self[slot].clear()
        self.free.append(slot)
    }
}
