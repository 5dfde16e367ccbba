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

    /// A node of the broker, and the account there.
    package struct Address: Sendable, CustomStringConvertible {
        package var host: String
        package var port: Int
        package var virtualHost: String
        package var username: String
        package var password: String
        /// Whether it is `amqps`.
        package var isTLS: Bool

        /// Host and port, for logs.
        package var description: String {
            self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
        }
    }

    /// The nodes of one broker, in the order in which they are tried.
    package var addresses: [Address]
    /// Certificates, for `amqps`.
    package var tls: TLS
    /// The name under which the connections show in the broker's lists.
    package var connectionName = "pushline"
    /// A broker that is silent for twice this long is taken for lost; at least 1 s.
    ///
    /// 20 s, and 5 s in a cluster: there is another node to go to, the sooner the better.
    package var heartbeat: Duration
    package var connectTimeout = Duration.seconds(5)
    /// How long the broker may take to declare, subscribe and close.
    package var requestTimeout = Duration.seconds(10)
    /// The most messages that are sent and not confirmed.
    package var confirmWindow = 1000
    /// How long a message may be unconfirmed: longer than a cluster takes to notice that a node is cut off.
    package var confirmTimeout = Duration.seconds(15)
    /// The shortest and the longest wait before a lost connection is tried again.
    package var backoff = Duration.milliseconds(100)...Duration.seconds(5)
    /// The requested size of a socket's send buffer, in octets; the kernel may limit it.
    package var sendBuffer = 1_048_576
    /// Declared on every new connection before any subscription; queues that exist with other arguments are left
    /// unchanged.
    package var topology = Topology()

    /// The shortest and the longest time without a channel for publishing, after the broker has refused a message on one.
    package var refusalPause = Duration.milliseconds(200)...Duration.seconds(2)

    /// Reads the addresses of a broker's nodes, each `amqp://user:password@host:port/vhost` or `amqps://…`, each part percent-encoded.
    ///
    /// Left out, the port is 5672 or 5671, user and password are `guest`, and the virtual host is `/`.
    ///
    /// - Parameters:
    ///   - urls: The addresses, in the order in which they are tried.
    ///   - tls: Certificates, for `amqps`.
    /// - Throws: ``Invalid``, saying which part.
    package init(urls: [String], tls: TLS = TLS()) throws {
        self.addresses = try urls.map { url in
            var parts = AddressParts()
            try parts.read(url)
            return Address(
                host: parts.host,
                port: parts.port ?? (parts.isTLS ? 5671 : 5672),
                virtualHost: parts.virtualHost,
                username: parts.username,
                password: parts.password,
                isTLS: parts.isTLS
            )
        }
        self.tls = tls
        self.heartbeat = .seconds(urls.count > 1 ? 5 : 20)
        try self.check()
    }

    /// Reads the address of a broker of one node; see ``init(urls:tls:)``.
    package init(url: String, tls: TLS = TLS()) throws {
        try self.init(urls: [url], tls: tls)
    }

    private func check() throws {
        guard let first = self.addresses.first else { throw Invalid(description: "The broker has no address.") }
        guard self.addresses.allSatisfy({ $0.virtualHost == first.virtualHost && $0.isTLS == first.isTLS }) else {
            throw Invalid(
                description:
                    "The broker's addresses must be nodes of one cluster: all with the same scheme and virtual host."
            )
        }
        guard first.isTLS else { return }
        guard (self.tls.certificateFile == nil) == (self.tls.keyFile == nil) else {
            throw Invalid(description: "The broker's client certificate and its key belong together.")
        }
        // librabbitmq 0.11 compares only host names, and would refuse every certificate without a reason.
        let isAddress = self.addresses.contains {
            $0.host.contains(":") || $0.host.allSatisfy { $0.isNumber || $0 == "." }
        }
        if self.tls.verifiesHostname, isAddress {
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
        // A list of addresses names the scheme of each.
        guard !self.host.isEmpty, !self.host.contains(where: { $0 == "," || $0.isWhitespace }) else {
            throw Self.invalid("host")
        }
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
