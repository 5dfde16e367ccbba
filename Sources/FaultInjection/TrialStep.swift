#if DEBUG
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
#endif

/// A step of the store's schema that no release has, so that tests see one taken under load.
///
/// `PUSHLINE_TRIAL_STEPS=expand,contract` gives a program these steps; only debug builds heed it.
package enum TrialStep: String, Sendable {
    case expand
    case contract

    /// The steps that this process was asked to have.
    package static var asked: [TrialStep] {
        #if DEBUG
        guard let names = unsafe getenv("PUSHLINE_TRIAL_STEPS") else { return [] }
        return unsafe String(cString: names).split(separator: ",").compactMap { TrialStep(rawValue: String($0)) }
        #else
        []
        #endif
    }
}
