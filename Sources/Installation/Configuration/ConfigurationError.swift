/// What is wrong with the configuration, in one line that names the key and where it stands.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    package let message: String

    package init(_ message: String) { self.message = message }

    package var description: String { self.message }
}
