package import Store

extension ChoreChunk {
    /// The next cursor of a list ordered by time: its last time, because more rows may share it.
    package static func next(_ times: [Int64], from cursor: Int64, limit: Int) -> Int64? {
        guard times.count == limit, let last = times.last else { return nil }
        return max(last, cursor + 1)
    }
}
