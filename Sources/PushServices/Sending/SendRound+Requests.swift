/// The result of one device's request.
enum RequestResult: Sendable {
    /// The push service has answered.
    case answer(Answer)
    case other(DeviceResult)
}

extension SendRound {
    /// Sends to the open devices, one request for each, for services that take one device at a time.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - width: The most requests in flight.
    ///   - window: Until when requests may start, and how long each may take.
    ///   - deliver: Makes a device's request, given its index among the batch's devices.
    mutating func request(
        _ batch: PushRequest,
        width: Int,
        within window: SendWindow,
        deliver: @escaping @Sendable (Int) async -> RequestResult
    ) async {
        await withTaskGroup(of: (Int, RequestResult).self) { group in
            var next = self.open.makeIterator()
            func start() {
                guard let position = next.next() else { return }
                group.addTask {
                    if batch.isStopped() || Task.isCancelled || ContinuousClock.now >= window.sendBy {
                        return (position, .other(.unsent))
                    }
                    return (position, await deliver(batch.indexes[position]))
                }
            }
            for _ in 0..<width { start() }
            while let (position, result) = await group.next() {
                switch result {
                case .answer(let answer): self.take(answer, at: position)
                case .other(let result): self.put(result, at: position)
                }
                start()
            }
        }
        self.tried()
    }
}
