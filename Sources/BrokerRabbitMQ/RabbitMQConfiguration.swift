package import Broker
import PushModel

/// Where the broker is and how to talk to it.
package struct RabbitMQConfiguration: Sendable {
    /// Certificates for `amqps`.
    package struct TLS: Sendable {
        /// PEM file of the authorities to trust; nil = the system's.
        package var authorityFile: String?
        /// PEM file with the client's certificate, sent when the broker asks for one.
        package var certificateFile: String?
        /// PEM file with the key of the client's certificate.
        package var keyFile: String?
        /// Whether the broker's certificate must bear the host's name.
        package var verifiesHostname = true

        package init(authorityFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil) {
            self.authorityFile = authorityFile
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// The fault of a configuration; never contains the password.
    package struct Invalid: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    package var host: String
    package var port: Int
    package var virtualHost: String
    package var username: String
    package var password: String
    /// Nil for `amqp`.
    package var tls: TLS?
    /// The name under which the connections show in the broker's lists.
    package var connectionName = "pushline"
    /// A broker that is silent for twice this long is taken for lost; at least 1 s.
    package var heartbeat = Duration.seconds(10)
    package var connectTimeout = Duration.seconds(5)
    /// How long the broker may take to declare, subscribe and close.
    package var requestTimeout = Duration.seconds(10)
    /// The most messages that are sent and not confirmed.
    package var confirmWindow = 1000
    /// The shortest and the longest wait before a lost connection is tried again.
    package var backoff = Duration.milliseconds(100)...Duration.seconds(5)
    /// The requested size of a socket's send buffer, in octets; the kernel may limit it.
    package var sendBuffer = 1_048_576
    /// Declared on every new connection before any subscription; queues that exist with other arguments are left
    /// unchanged.
    package var topology = Topology()

    /// Reads an address, `amqp://user:password@host:port/vhost` or `amqps://…`, each part percent-encoded.
    ///
    /// Left out, the port is 5672 or 5671, user and password are `guest`, and the virtual host is `/`.
    ///
    /// - Parameters:
    ///   - url: The address.
    ///   - tls: Certificates, for `amqps`.
    /// - Throws: ``Invalid``, saying which part.
    package init(url: String, tls: TLS = TLS()) throws {
        var address = AddressParts()
        try address.read(url)
        self.host = address.host
        self.port = address.port ?? (address.isTLS ? 5671 : 5672)
        self.virtualHost = address.virtualHost
        self.username = address.username
        self.password = address.password
        self.tls = address.isTLS ? tls : nil
        try self.check()
    }

    private func check() throws {
        guard let tls else { return }
        guard (tls.certificateFile == nil) == (tls.keyFile == nil) else {
            throw Invalid(description: "The broker's client certificate and its key belong together.")
        }
        // librabbitmq 0.11 compares only host names, and would refuse every certificate without a reason.
        let isAddress = self.host.contains(":") || self.host.allSatisfy { $0.isNumber || $0 == "." }
        if tls.verifiesHostname, isAddress {
            throw Invalid(
                description: "An amqps address needs a host name: certificates are not compared with addresses."
            )
        }
    }
}

/// The parts of an AMQP address.
private struct AddressParts {
    var isTLS = false
    var host = ""
    var port: Int?
    var username = "guest"
    var password = "guest"
    var virtualHost = "/"

    mutating func read(_ url: String) throws {
        var rest = Substring(url)
        if rest.hasPrefix("amqps://") {
            self.isTLS = true
        } else if !rest.hasPrefix("amqp://") {
            throw Self.invalid("scheme, amqp:// or amqps://,")
        }
        rest = rest.drop { $0 != "/" }.dropFirst(2)
        guard !rest.contains("?"), !rest.contains("#") else {
            throw Self.invalid("query or fragment (none is allowed)")
        }
        if let slash = rest.firstIndex(of: "/") {
            let path = rest[rest.index(after: slash)...]
            if !path.isEmpty { self.virtualHost = try Self.decoded(path, "virtual host") }
            rest = rest[..<slash]
        }
        if let at = rest.lastIndex(of: "@") {
            let user = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            self.username = try Self.decoded(user[0], "user")
            if user.count > 1 { self.password = try Self.decoded(user[1], "password") }
            rest = rest[rest.index(after: at)...]
        }
        try self.readHost(rest)
    }

    private mutating func readHost(_ text: Substring) throws {
        var name = text
        var port: Substring?
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            name = text[text.index(after: text.startIndex)..<end]
            let after = text[text.index(after: end)...]
            guard after.isEmpty || after.hasPrefix(":") else { throw Self.invalid("host") }
            port = after.isEmpty ? nil : after.dropFirst()
        } else if let colon = text.firstIndex(of: ":") {
            name = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        self.host = try Self.decoded(name, "host")
        guard !self.host.isEmpty else { throw Self.invalid("host") }
        if let port {
            guard let number = Int(port), (1...65535).contains(number) else { throw Self.invalid("port") }
            self.port = number
        }
    }

    private static func decoded(_ text: Substring, _ part: String) throws -> String {
        // A C library takes these: a zero byte would cut them short.
        guard let text = PercentCoding.decode(text, plusIsSpace: false), !text.utf8.contains(0) else {
            throw Self.invalid(part)
        }
        return text
    }

    private static func invalid(_ part: String) -> RabbitMQConfiguration.Invalid {
        RabbitMQConfiguration.Invalid(description: "The \(part) in the broker's address cannot be read.")
    }
}
