extension Array where Element: Sendable {
    /// Does something with each, so many at a time; of the errors the first is thrown when all that were begun have ended.
    func inParallel<Value: Sendable>(
        _ width: Int,
        _ work: @escaping @Sendable (Element) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: Value.self) { group in
            var values: [Value] = []
            for (index, element) in self.enumerated() {
                if index >= width, let value = try await group.next() { values.append(value) }
                group.addTask { try await work(element) }
            }
            for try await value in group { values.append(value) }
            return values
        }
    }
}
