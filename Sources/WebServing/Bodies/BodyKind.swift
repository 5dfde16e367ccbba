/// How much body is read.
package enum BodyKind: Sendable {
    case none
    case limited
    /// Up to the size of a send to many users.
    case send
    /// Up to as many bytes as a wire has: of all that its client may send, whatever the API takes.
    case upTo(Int)
    /// Up to the limit for uploads.
    case upload
    /// Nothing is read: the handler takes it as it comes, and bounds it.
    case stream
}
