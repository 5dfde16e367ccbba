/// Why a token lets nobody in.
package enum TokenRefusal: Error, Sendable, Equatable {
    /// It is not to be believed; the words hold nothing of the token.
    case invalid(String)
    /// The issuer's keys cannot be read at the moment.
    case noKeys
    /// Too many tokens wait for the issuer's keys.
    case busy
}
