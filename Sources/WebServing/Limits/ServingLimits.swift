package import Settings

/// The limits of a server: what an operator sets, and beside it what no operator does.
package struct ServingLimits: Sendable {
    /// The limits and habits that an operator may set.
    package var settings: APISettings
    /// The least average rate of a body beyond `body_size`, in bytes a second.
    package var largeBodyRate = 64 << 10
    /// The least average rate of an import, an upload of sends or an export, in bytes a second.
    package var lineRate = 1 << 10
    /// The longest that an import or export may take.
    package var bulkTime = Duration.seconds(3600)
    /// Gives the system back the memory that a large body took, after it.
    package var releaseMemory: @Sendable () -> Void = {}
    /// Whether each request is a line of the log, at whatever level that is.
    package var accessLog = false

    package init(_ settings: APISettings = APISettings()) { self.settings = settings }
}
