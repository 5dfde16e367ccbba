import AsyncHTTPClient
import Broker
import Foundation
import Installation
import NIOCore
import NIOHTTP1
import OutgoingHTTP

/// Looks at a cluster's queues: whether each would go on with one node less.
///
/// Only the management API tells; AMQP does not.
struct ClusterCheckup {
    /// A queue, as the management API has it.
    struct Queue: Decodable, Sendable {
        let name: String
        let leader: String?
        let members: [String]?
        let online: [String]?
    }

    /// Why the API gave nothing.
    private struct Fault: Error {
        let words: String
    }

    /// More than the API says of all queues of an installation.
    private static let maximumSize = 4 << 20
    /// How long it may take, from the look for its address to the last byte.
    private static let patience = Duration.seconds(5)

    let address: ManagementAddress

    func run() async -> [Finding] {
        do {
            return Self.findings(try await self.queues())
        } catch let fault as Fault {
            return [.wrong("cluster", "\(self.address.url): \(fault.words)")]
        } catch {
            return [.wrong("cluster", "\(self.address.url): cannot be asked (\(error)): set broker.management_url")]
        }
    }

    // MARK: - What it means

    /// - Parameter queues: All queues of the virtual host.
    /// - Returns: A finding for all that are right, and one for those that are wrong in the same way.
    static func findings(_ queues: [Queue]) -> [Finding] {
        let ours = Set(Topology.pushline.queues.map(\.name))
        let quorum = queues.filter { ours.contains($0.name) }.sorted { $0.name < $1.name }
        guard !quorum.isEmpty else { return [.wrong("cluster", "has none of the queues: start a worker")] }
        let (right, wrong) = (quorum.filter(\.survivesALoss), quorum.filter { !$0.survivesALoss })
        var findings: [Finding] = []
        if !right.isEmpty {
            let leaders = Dictionary(grouping: right, by: { $0.leader ?? "" }).sorted { $0.key < $1.key }
                .map { "\($0.key) \($0.value.count)" }
            let members = Set(right.map { String($0.present.count) }).sorted().joined(separator: " or ")
            let words =
                "with one node less, \(Self.count(right)) would go on: members online \(members); leaders: "
                + leaders.joined(separator: ", ")
            findings.append(.right("cluster", words))
        }
        let kinds = Dictionary(grouping: wrong) { [$0.all.sorted(), $0.present.sorted()] }
        for (_, queues) in kinds.sorted(by: { $0.value[0].name < $1.value[0].name }) {
            findings.append(.wrong("cluster", Self.fault(queues)))
        }
        return findings
    }

    private static func count(_ queues: [Queue]) -> String { queues.count == 1 ? "a queue" : "\(queues.count) queues" }

    /// What is wrong with queues that have the same members.
    private static func fault(_ queues: [Queue]) -> String {
        let queue = queues[0]
        let away = Set(queue.all).subtracting(queue.present).sorted()
        let advice =
            if !away.isEmpty {
                "start RabbitMQ on \(away.joined(separator: ", ")), then rabbitmq-queues rebalance quorum"
            } else if queue.leader == nil {
                "no leader is elected: look at RabbitMQ's log"
            } else {
                "add members: rabbitmq-queues grow NODE all"
            }
        let names = queues.count == 1 ? queue.name : "\(queue.name) and \(queues.count - 1) more queues"
        let online = queue.present.isEmpty ? "none" : queue.present.sorted().joined(separator: ", ")
        return "\(names): members \(queue.all.count), online \(online), leader \(queue.leader ?? "none"): "
            + "with one node less there is no majority, and work stands still; \(advice)"
    }

    // MARK: - Asking

    private func queues() async throws -> [Queue] {
        let address = self.address
        return try await withThrowingTaskGroup(of: [Queue].self) { group in
            group.addTask {
                let setup = HTTPClient.Configuration.outgoing(trustFile: address.authorityFile)
                return try await HTTPClient.withHTTPClient(configuration: setup) { try await Self.ask($0, address) }
            }
            // The client's own deadline ends with the headers.
            group.addTask {
                try await Task.sleep(for: Self.patience)
                throw Fault(words: "gave no complete answer within \(Self.patience)")
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }

    private static func ask(_ client: HTTPClient, _ address: ManagementAddress) async throws -> [Queue] {
        let host = address.virtualHost.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let columns = "disable_stats=true&columns=name,leader,members,online"
        var request = HTTPClientRequest(url: "\(address.url)/api/queues/\(host)?\(columns)")
        let account = Data("\(address.username):\(address.password)".utf8).base64EncodedString()
        request.headers.add(name: "Authorization", value: "Basic \(account)")
        let response = try await client.execute(request, deadline: .distantFuture)
        switch response.status.code {
        case 200: break
        case 401, 403:
            let user = "the user \(address.username) may not ask it"
            throw Fault(words: "\(user): rabbitmqctl set_user_tags \(address.username) management")
        default: throw Fault(words: "answers \(response.status.code) instead of 200")
        }
        do {
            let body = try await response.body.collect(upTo: Self.maximumSize)
            return try JSONDecoder().decode([Queue].self, from: Data(body.readableBytesView))
        } catch is NIOTooManyBytesError {
            throw Fault(words: "its answer is larger than 4 MiB")
        } catch is DecodingError {
            throw Fault(words: "does not answer as RabbitMQ's management API")
        }
    }
}

extension ClusterCheckup.Queue {
    /// The nodes that have a copy.
    fileprivate var all: [String] { self.members ?? [] }

    /// Those of them that are there.
    fileprivate var present: [String] { (self.online ?? []).filter(self.all.contains) }

    /// Whether a majority is left when one more node goes.
    fileprivate var survivesALoss: Bool {
        self.leader != nil && self.present.count - 1 >= self.all.count / 2 + 1
    }
}
