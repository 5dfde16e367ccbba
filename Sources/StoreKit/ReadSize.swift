/// How much a read reads.
package enum ReadSize: Sendable {
    /// Few rows: where a connection is free, it is read on its caller's thread.
    case short
    case ordinary
    /// A piece of an audience or of a list, some 40 ms: one connection is left to all else.
    case long
}
