/// Where the connections to some hosts lead, whatever the system's lookup says of their names, as `--connect-to` of curl; for simulators.
///
/// A browser chooses its push service, so a test that has one of its own must stand in for that host. A trusted certificate is
/// still asked for, and the address is checked as one that a lookup found.
package struct ConnectTo: Sendable, Equatable {
    package struct Place: Sendable, Equatable {
        package let address: String
        package let port: Int
    }

    private let places: [String: Place]

    /// - Parameter texts: Such as `fcm.googleapis.com=127.0.0.1:8443`.
    /// - Throws: ``InvalidValue`` that names the one that is none.
    package init(_ texts: [String]) throws(InvalidValue) {
        var places: [String: Place] = [:]
        for text in texts {
            let parts = text.split(separator: "=", omittingEmptySubsequences: false)
            let host = parts[0].lowercased()
            // What is an address already is not looked up.
            guard parts.count == 2, WebPushEndpoint.isHost(host), IPAddress(host) == nil,
                let place = try? WebPushEndpoint("https://" + parts[1]), place.url == place.origin,
                IPAddress(place.host) != nil
            else {
                throw InvalidValue(
                    "\"\(text.prefix(100))\" is not a host with an IPv4 address and a port such as push.example.com=127.0.0.1:8443"
                )
            }
            guard places.updateValue(Place(address: place.host, port: place.port), forKey: host) == nil else {
                throw InvalidValue("\(host) is mapped to two addresses")
            }
        }
        self.places = places
    }

    /// Where connections to a host lead; nil if its name says it.
    package subscript(host: String) -> Place? { self.places[host] }
}
