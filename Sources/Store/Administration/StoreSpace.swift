/// The files of the store, in bytes.
package struct StoreSpace: Sendable, Equatable {
    package let store: Int64
    /// The bytes written and not yet moved into the store's file.
    package let log: Int64
    /// The bytes free on the file system for the process's user.
    package let free: Int64

    package init(store: Int64, log: Int64, free: Int64) {
        self.store = store
        self.log = log
        self.free = free
    }
}
