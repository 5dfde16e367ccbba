/// A piece of a list, in the list's order.
package struct Page<Element: Sendable>: Sendable {
    package let items: [Element]
    /// Give this to get the next piece; nil at the end.
    package let cursor: String?

    package init(items: [Element], cursor: String?) {
        self.items = items
        self.cursor = cursor
    }
}
