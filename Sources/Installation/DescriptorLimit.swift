import Foundation

/// How many files and connections a process may have open.
package struct DescriptorLimit: Sendable, Equatable {
    /// The limit in force, and the maximum that it may be raised to.
    package var soft: Int
    package var hard: Int

    package init(soft: Int, hard: Int) {
        self.soft = soft
        self.hard = hard
    }

    /// Descriptors for the store, the broker, credentials, push services and logs.
    package static let reserve = 200

    /// This process's limit; nil if unknown.
    package static var current: DescriptorLimit? {
        guard let limit = Self.read() else { return nil }
        return DescriptorLimit(soft: Int(clamping: limit.rlim_cur), hard: Int(clamping: limit.rlim_max))
    }

    /// Raises the soft limit of this process to the hard one, if that is possible: the soft one is small for the sake of programs
    /// that use `select`.
    package static func raise() {
        guard var limit = Self.read(), limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        // If the system refuses, the limit stays; `connections(_:)` uses the limit in force.
        _ = unsafe setrlimit(Self.resource, &limit)
    }

    /// The connections that the limit allows, at most those wanted.
    package func connections(_ wanted: Int) -> Int { min(wanted, max(16, self.soft - Self.reserve)) }

    private static func read() -> rlimit? {
        var limit = rlimit()
        return unsafe getrlimit(Self.resource, &limit) == 0 ? limit : nil
    }

    #if os(Linux)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    private static let resource = RLIMIT_NOFILE
    #endif
}
