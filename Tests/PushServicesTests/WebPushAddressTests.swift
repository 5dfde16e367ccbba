import AsyncHTTPClient
import Dispatch
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import OutgoingHTTP
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

@testable import PushServices

/// Where a push goes: an address that the device chose, and nothing on our side of the internet.
@Suite("Web Push, addresses", .serialized, .undisturbed)
struct WebPushAddressTests {
    @Test("an address that is not declared is not connected to")
    func privateAddress() async throws {
        try await Senders.with { senders in
            var senders = senders
            senders.spec.web?.privateNetworks = ["10.0.0.0/8"]
            let results = try await senders.sender(.web).send(senders.batch(.web, 1))
            #expect(
                results == [.rejected(reason: "the endpoint's host has no address on the internet", status: nil)]
            )
            #expect(senders.simulator.counts.web.requests == 0)
        }
    }

    @Test("of a name's addresses only allowed ones are used")
    func names() async throws {
        func allowed(_ found: [String], declared: [String] = []) async -> Result<[String], HostAddresses.Fault> {
            let addresses = HostAddresses(declared: declared.compactMap { IPNetwork($0) }) { _, _ in found }
            do throws(HostAddresses.Fault) {
                return .success(try await addresses.allowed(of: "push.example.net", by: .now))
            } catch {
                return .failure(error)
            }
        }
        #expect(await allowed(["8.8.8.8"]) == .success(["8.8.8.8"]))
        #expect(await allowed(["10.0.0.1", "::1", "fe80::1%eth0", "8.8.8.8"]) == .success(["8.8.8.8"]))
        #expect(await allowed(["10.0.0.1", "169.254.169.254"]) == .failure(.notPublic))
        #expect(await allowed(["10.0.0.1"], declared: ["10.0.0.0/8"]) == .success(["10.0.0.1"]))
        #expect(await allowed([]) == .failure(.unknown))
        #expect(await NameLookups.system.addresses(of: "localhost").contains { $0 == "127.0.0.1" || $0 == "::1" })
    }

    /// DNS rebinding: the name leads to a checked address first, and to this host when the connection is made.
    @Test("a client stays at the address that was checked")
    func rebinding() async throws {
        let lookups = NIOLockedValueBox(0)
        let made = NIOLockedValueBox<[String]>([])
        let addresses = HostAddresses(declared: []) { _, _ in
            lookups.withLockedValue { $0 += 1 }
            return ["8.8.8.8"]
        }
        let clients = PinnedClients(addresses) { host, address in
            made.withLockedValue { $0.append("\(host) \(address)") }
            return OutgoingClient { HTTPClient(eventLoopGroupProvider: .singleton) }
        }
        let one = try await clients.client(for: "push.example.net")
        let other = try await clients.client(for: "push.example.net")
        #expect(one === other && one.address == "8.8.8.8")
        #expect(made.withLockedValue { $0 } == ["push.example.net 8.8.8.8"])
        #expect(lookups.withLockedValue { $0 } == 1)
        one.inProgress.end()
        other.inProgress.end()
        await clients.close()
    }

    /// What the connection is made to is the address that was found by us, whatever the system says of the name.
    @Test("a connection goes to the address that was checked")
    func checkedAddress() async throws {
        try await Senders.with { senders in
            let url = try senders.simulator.urls.web.replacing("127.0.0.1", with: "localhost")
            let configuration = HTTPClient.Configuration.outgoing(
                trustFile: try senders.simulator.credentials.trustFile
            )
            let found = NIOLockedValueBox(["127.0.0.1"])
            let addresses = HostAddresses(declared: [try #require(IPNetwork("127.0.0.0/8"))]) { _, _ in
                found.withLockedValue { $0 }
            }
            func isReached() async throws -> Bool {
                let clients = PinnedClients(addresses) { host, address in
                    var configuration = configuration
                    configuration.dnsOverride = [host: address]
                    return OutgoingClient { [configuration] in
                        HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
                    }
                }
                let client = try await clients.client(for: "localhost")
                let answer = try? await client.http.exchange(
                    OutgoingRequest(.GET, url + "/web/", longestAnswer: 1024),
                    by: .now + .seconds(30),
                    with: Peer(.web, logger: .quiet)
                )
                client.inProgress.end()
                await clients.close()
                return answer != nil
            }
            #expect(try await isReached())
            // Nobody listens there, while the system leads "localhost" to the simulator.
            found.withLockedValue { $0 = ["127.0.0.2"] }
            #expect(try await !isReached())
        }
    }

    @Test("of a host's addresses the next is taken where one refuses connections")
    func deadAddress() async throws {
        try await Senders.with { senders in
            let port = try #require(try senders.simulator.urls.web.split(separator: ":").last)
            let web = try #require(senders.spec.web)
            let configuration = HTTPClient.Configuration.outgoing(
                trustFile: try senders.simulator.credentials.trustFile
            )
            // Nobody listens at the first one.
            let addresses = HostAddresses(declared: [try #require(IPNetwork("127.0.0.0/8"))]) { _, _ in
                ["127.0.0.2", "127.0.0.1"]
            }
            let clients = PinnedClients(addresses) { host, address in
                var configuration = configuration
                configuration.dnsOverride = [host: address]
                return OutgoingClient { [configuration] in
                    HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
                }
            }
            let sender = WebPushSender(
                tokens: try VAPIDTokens(
                    pem: try CredentialFile.read(web.privateKeyFile, setting: "web.private_key_file").content,
                    publicKey: web.publicKey,
                    subject: web.subject
                ),
                hosts: try WebPushHosts(["localhost:\(port)"]),
                connectTo: try ConnectTo([]),
                clients: clients,
                requestTimeout: .seconds(30),
                peer: Peer(.web, logger: .quiet),
                metrics: SenderMetrics(pns: .web)
            )
            let real = try WebPushSubscription(handle: senders.handle(.web, 0))
            let named = WebPushSubscription(
                endpoint: try WebPushEndpoint(real.endpoint.url.replacing("127.0.0.1", with: "localhost")),
                publicKey: real.publicKey,
                authenticationSecret: real.authenticationSecret
            )
            let first = try await sender.send(senders.batch(.web, handles: [named.handle]))
            #expect(senders.simulator.counts.web.requests == 0, "\(first)")
            let second = try await sender.send(senders.batch(.web, handles: [named.handle]))
            #expect(senders.simulator.counts.web.requests > 0, "\(second)")
            // The client that reached it is kept.
            let client = try await clients.client(for: "localhost")
            #expect(client.address == "127.0.0.1")
            client.inProgress.end()
            await sender.close(by: .now + .seconds(60))
        }
    }

    /// Nothing may come over it any more.
    @Test("after a push that was not answered, later ones make a new connection")
    func silentConnection() async throws {
        try await Senders.with { senders in
            let sender = try senders.sender(.web)
            senders.simulator.inject(SimulatorFault(.silence, pns: .web, count: 1))
            let silent = await sender.send(try senders.batch(.web, 1, time: .seconds(2)))
            guard case .unanswered = silent[0] else {
                Issue.record("\(silent)")
                return
            }
            // New connections fail.
            senders.simulator.inject(SimulatorFault(.plain, pns: .web))
            let later = await sender.send(try senders.batch(.web, 1))
            guard case .retry(nil, .sender, false, _, nil) = later[0] else {
                Issue.record("\(later)")
                return
            }
            senders.simulator.clearFaults()
            #expect(await sender.send(try senders.batch(.web, 1)) == [.accepted])
        }
    }

    @Test("a redirect is not followed")
    func redirects() async throws {
        try await Senders.with { senders in
            for status in [301, 302, 303, 307, 308] {
                senders.simulator.inject(SimulatorFault(.answer(status: status), pns: .web, count: 1))
                let results = try await senders.sender(.web).send(senders.batch(.web, 1))
                #expect(results == [.rejected(reason: "Status\(status)", status: status)])
            }
            #expect(senders.simulator.counts.web.requests == 5)
        }
    }

    @Test("hosts beyond the limit cost the one that was used least recently its client, not its sends")
    func eviction() async throws {
        let clients = PinnedClients(HostAddresses(declared: []) { _, _ in ["8.8.8.8"] }) { _, _ in
            OutgoingClient { HTTPClient(eventLoopGroupProvider: .singleton) }
        }
        let first = try await clients.client(for: "0.example.net")
        let second = try await clients.client(for: "1.example.net")
        for number in 2..<PinnedClients.maximumHosts {
            try await clients.client(for: "\(number).example.net").inProgress.end()
        }
        #expect(try await clients.client(for: "0.example.net") === first)
        try await clients.client(for: "another.example.net").inProgress.end()
        #expect(try await clients.client(for: "0.example.net") === first)
        let renewed = try await clients.client(for: "1.example.net")
        #expect(renewed !== second)
        renewed.inProgress.end()
        // Its send still runs: the client that went takes no more and is not shut down until then.
        #expect(!second.inProgress.begin())
        let closed = NIOLockedValueBox(false)
        let closing = Task {
            await clients.close()
            closed.withLockedValue { $0 = true }
        }
        for _ in 0..<1000 { await Task.yield() }
        #expect(!closed.withLockedValue { $0 })
        for _ in 0..<3 { first.inProgress.end() }
        second.inProgress.end()
        await closing.value
    }

    @Test("a declared place stands in for a host, by a trusted certificate and at an address that may be connected to")
    func standIn() async throws {
        try await Senders.with { senders in
            let port = try #require(try senders.simulator.urls.web.split(separator: ":").last)
            var senders = senders
            // Nobody listens at the endpoint itself.
            senders.spec.web?.endpointHosts = ["push.example.com:1"]
            senders.spec.web?.connectTo = ["push.example.com=127.0.0.1:\(port)"]
            let real = try WebPushSubscription(handle: senders.handle(.web, 0))
            let path = real.endpoint.url.dropFirst(real.endpoint.origin.count)
            let named = WebPushSubscription(
                endpoint: try WebPushEndpoint("https://push.example.com:1\(path)"),
                publicKey: real.publicKey,
                authenticationSecret: real.authenticationSecret
            )
            let arrived = try await senders.sender(.web).send(senders.batch(.web, handles: [named.handle]))
            // The token's audience is the endpoint's, which the simulator is not.
            #expect(arrived == [Self.foreignAudience])
            #expect(senders.simulator.counts.web.requests == 1)
            var undeclared = senders
            undeclared.spec.web?.privateNetworks = []
            let refused = try await undeclared.sender(.web).send(senders.batch(.web, handles: [named.handle]))
            #expect(
                refused == [.rejected(reason: "the endpoint's host has no address on the internet", status: nil)]
            )
            // The simulator's authority is none of the system's.
            var untrusted = senders
            untrusted.spec.web?.trustFile = nil
            _ = try await untrusted.sender(.web).send(senders.batch(.web, handles: [named.handle]))
            #expect(senders.simulator.counts.web.requests == 1)
        }
    }

    /// The name of the certificate is asked for at the pinned address: TLS must not suffer from it.
    @Test("a name is reached at its pinned address, with its own certificate")
    func pinnedName() async throws {
        try await Senders.with { senders in
            let port = try #require(try senders.simulator.urls.web.split(separator: ":").last)
            var senders = senders
            senders.spec.web?.endpointHosts = ["localhost:\(port)"]
            senders.spec.web?.privateNetworks = ["127.0.0.1"]
            let real = try WebPushSubscription(handle: senders.handle(.web, 0))
            let named = WebPushSubscription(
                endpoint: try WebPushEndpoint(real.endpoint.url.replacing("127.0.0.1", with: "localhost")),
                publicKey: real.publicKey,
                authenticationSecret: real.authenticationSecret
            )
            let results = try await senders.sender(.web).send(senders.batch(.web, handles: [named.handle]))
            // It arrives, and the token's audience is the name, which the simulator is not.
            #expect(results == [Self.foreignAudience])
        }
    }

    private static let foreignAudience = DeviceResult.retry(
        after: nil,
        scope: .device,
        counts: true,
        reason: "BadJwtToken",
        status: 403
    )
}

/// The system's lookups, which no thread can be called back from.
@Suite("Name lookups", .undisturbed) struct NameLookupTests {
    /// A system that answers when it is told to.
    private final class System: Sendable {
        let asked = NIOLockedValueBox<[String]>([])
        let gate = DispatchSemaphore(value: 0)

        @Sendable func lookUp(_ host: String) -> [String] {
            self.asked.withLockedValue { $0.append(host) }
            self.gate.wait()
            return ["8.8.8.8"]
        }
    }

    private static func with(
        patience: Duration,
        _ body: (NameLookups, System) async throws -> Void
    ) async throws {
        let (system, threads) = (System(), NIOThreadPool(numberOfThreads: 2))
        threads.start()
        let lookups = NameLookups(on: threads, patience: patience, maximumNames: 3) { system.lookUp($0) }
        try await body(lookups, system)
        try await threads.shutdownGracefully()
    }

    @Test("who asks waits for so long; a name that hangs has one thread, and many names wait for two")
    func bounds() async throws {
        try await Self.with(patience: .zero) { lookups, system in
            for _ in 0..<10 {
                for name in ["a", "b", "c", "d", "e"] { #expect(await lookups.addresses(of: name).isEmpty) }
            }
            for _ in 0..<3 { system.gate.signal() }
            #expect(Set(system.asked.withLockedValue { $0 }).isSubset(of: ["a", "b", "c"]))
            #expect(system.asked.withLockedValue { $0.count } <= 3)
        }
    }

    @Test("an answer goes to all who asked")
    func joined() async throws {
        try await Self.with(patience: .seconds(600)) { lookups, system in
            async let first = lookups.addresses(of: "a")
            async let second = lookups.addresses(of: "a")
            for _ in 0..<2 { system.gate.signal() }
            #expect(await first == ["8.8.8.8"])
            #expect(await second == ["8.8.8.8"])
            system.gate.signal()
            #expect(await lookups.addresses(of: "b") == ["8.8.8.8"])
        }
    }
}

extension PinnedClients {
    fileprivate func client(for host: String) async throws(HostAddresses.Fault) -> Client {
        try await self.client(for: host, by: .now + .seconds(60))
    }

    fileprivate func close() async { await self.close(by: .now + .seconds(60)) }
}

extension NameLookups {
    fileprivate func addresses(of host: String) async -> [String] {
        await self.addresses(of: host, by: .now + .seconds(60))
    }
}
