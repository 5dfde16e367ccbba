#if DEBUG
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
#endif

/// By how much the wall clock is made to be wrong; in builds other than debug it never is.
package enum WallClockJump {
    /// Milliseconds, from the file of 8 octets (of the machine's order) that `PUSHLINE_CLOCK_JUMP` names.
    @inline(__always)
    package static var milliseconds: Int64 {
        #if DEBUG
        unsafe Self.mapped.address?.load(as: Int64.self) ?? 0
        #else
        0
        #endif
    }

    #if DEBUG
    /// Read by each who asks for the time, so that it jumps while the process runs.
    @safe
    private struct Mapped: @unchecked Sendable {
        // Mapped once for reading, and never unmapped.
        let address: UnsafeRawPointer?
    }

    private static let mapped: Mapped = {
        guard let path = unsafe getenv("PUSHLINE_CLOCK_JUMP") else { return unsafe Mapped(address: nil) }
        let file = unsafe open(path, O_RDONLY)
        guard file >= 0 else { return unsafe Mapped(address: nil) }
        defer { close(file) }
        let address = unsafe mmap(nil, 8, PROT_READ, MAP_SHARED, file, 0)
        return unsafe Mapped(address: address == MAP_FAILED ? nil : UnsafeRawPointer(address))
    }()
    #endif
}
