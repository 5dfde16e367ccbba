import Foundation
package import PushModel

/// Where the broker is.
package struct BrokerSettings: SettingsSection, CustomStringConvertible {
    /// Holds passwords: never for a log; ``description`` is.
    @Setting(
        .text,
        """
        RabbitMQ: amqp:// or amqps://, user:password@host:port/virtual-host; of a cluster the addresses of all its nodes, with commas between \
        them
        """
    )
    package var url = "amqp://guest:guest@127.0.0.1:5672/"
    @Setting(.path, "amqps: PEM file with the authorities to trust; empty = the system's")
    package var caFile: String? = nil
    @Setting(.path, "amqps: PEM file with our client certificate; empty = none")
    package var certificateFile: String? = nil
    @Setting(.path, "amqps: PEM file with its private key; empty = none")
    package var keyFile: String? = nil
    @Setting(
        .seconds(0...600),
        "seconds; a connection that is silent for two of them is dropped; 0 = 20, with several addresses 5"
    )
    package var heartbeat = Duration.zero
    /// May hold a password.
    @Setting(
        .text,
        """
        a cluster's management API, for `pushline doctor`: http:// or https://, host:port; asked as the user of url, unless user:password@ is \
        before the host
        """
    )
    package var managementURL: String? = nil

    package init() {}

    package var fault: SettingFault? { CertificatePair.fault(self.certificateFile, self.keyFile) }

    /// The addresses of the broker's nodes.
    ///
    /// The list is divided at each comma that another address follows, for a password may have commas.
    package var urls: [String] {
        var addresses: [String] = []
        for part in self.url.split(separator: ",", omittingEmptySubsequences: false) {
            let text = part.trimmingCharacters(in: .whitespacesAndNewlines)
            if addresses.isEmpty || text.hasPrefix("amqp://") || text.hasPrefix("amqps://") {
                addresses.append(text)
            } else {
                addresses[addresses.count - 1] += "," + part
            }
        }
        return addresses
    }

    /// Scheme, host, port and virtual host of each address, without user and password.
    package var description: String { self.urls.map(Self.withoutAccount).joined(separator: ", ") }

    private static func withoutAccount(_ url: String) -> String {
        guard var parts = URLComponents(string: url) else { return "(not a URL)" }
        parts.user = nil
        parts.password = nil
        parts.query = nil
        return parts.string ?? "(not a URL)"
    }
}
