import OutgoingHTTP
import PushModel

/// HTTP clients for hosts that devices chose, each bound to an address of its host that was checked.
///
/// A client that looked the name up again could be led elsewhere: whoever owns a name can answer with a public address first, and
/// with a private one when the connection is made.
actor PinnedClients {
    /// A client that reaches one host at one address.
    final class Client: Sendable {
        let address: String
        let http: OutgoingClient
        let inProgress = SendsInProgress()

        fileprivate init(_ http: OutgoingClient, at address: String) {
            self.http = http
            self.address = address
        }

        /// Lets requests in progress end until a deadline.
        fileprivate func close(by deadline: ContinuousClock.Instant) async {
            await self.inProgress.close(by: deadline)
            await self.http.close()
        }
    }

    private struct Entry {
        let client: Client
        /// The addresses that the host had when it was looked up.
        let allowed: [String]
        var checked: ContinuousClock.Instant
        var used: ContinuousClock.Instant
    }

    /// How long an address stands before the name is looked up again.
    private static let life = Duration.seconds(60)
    /// No send is longer under way.
    private static let longestSend = Duration.seconds(60)
    /// Devices choose hosts, so there is an end to them: beyond, the one goes that was used least recently.
    static let maximumHosts = 64

    private let addresses: HostAddresses
    private let make: @Sendable (_ host: String, _ address: String) -> OutgoingClient
    private var entries: [String: Entry] = [:]
    /// Those whose last requests are under way.
    private var retiring: [ObjectIdentifier: Client] = [:]
    private var isClosed = false

    init(_ addresses: HostAddresses, make: @escaping @Sendable (_ host: String, _ address: String) -> OutgoingClient) {
        self.addresses = addresses
        self.make = make
    }

    /// The client for a host; ``SendsInProgress/end()`` of its sends must follow.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - deadline: Until when its name may be looked up.
    /// - Returns: The client.
    /// - Throws: ``HostAddresses/Fault``.
    func client(
        for host: String,
        by deadline: ContinuousClock.Instant
    ) async throws(HostAddresses.Fault) -> Client {
        let now = ContinuousClock.now
        if let entry = self.entries[host], now - entry.checked < Self.life, entry.client.inProgress.begin() {
            self.entries[host]?.used = now
            return entry.client
        }
        let allowed = try await self.addresses.allowed(of: host, by: deadline)
        guard !self.isClosed else { throw .unknown }
        // Another's that waited for the same lookup, too.
        if let entry = self.entries[host], allowed.contains(entry.client.address), entry.client.inProgress.begin() {
            self.entries[host] = Entry(client: entry.client, allowed: allowed, checked: .now, used: .now)
            return entry.client
        }
        self.retire(host)
        if self.entries.count >= Self.maximumHosts,
            let oldest = self.entries.min(by: { $0.value.used < $1.value.used })?.key
        {
            self.retire(oldest)
        }
        let client = Client(self.make(host, allowed[0]), at: allowed[0])
        self.entries[host] = Entry(client: client, allowed: allowed, checked: .now, used: .now)
        _ = client.inProgress.begin()
        return client
    }

    /// Has the host's next sends go to its next address, if it has another: this one takes no connection.
    func failed(_ client: Client, of host: String) {
        // Of many sends that fail at an address the first one alone moves on.
        guard let entry = self.entries[host], entry.client === client, entry.allowed.count > 1,
            let index = entry.allowed.firstIndex(of: client.address)
        else { return }
        let address = entry.allowed[(index + 1) % entry.allowed.count]
        self.retire(host)
        self.entries[host] = Entry(
            client: Client(self.make(host, address), at: address),
            allowed: entry.allowed,
            checked: entry.checked,
            used: entry.used
        )
    }

    private func retire(_ host: String) {
        guard let client = self.entries.removeValue(forKey: host)?.client else { return }
        self.retiring[ObjectIdentifier(client)] = client
        Task {
            await client.close(by: .now + Self.longestSend)
            self.retiring[ObjectIdentifier(client)] = nil
        }
    }

    /// Ends all, when the requests in progress have ended, or at the deadline.
    func close(by deadline: ContinuousClock.Instant) async {
        self.isClosed = true
        for host in Array(self.entries.keys) { self.retire(host) }
        await withDiscardingTaskGroup { group in
            for client in self.retiring.values { group.addTask { await client.close(by: deadline) } }
        }
    }
}
