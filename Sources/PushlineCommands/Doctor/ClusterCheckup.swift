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

    let address: ManagementAddress
    /// How long it may take, from the look for its address to the last byte.
    var patience = Duration.seconds(5)

    func run() async -> [Finding] {
        do throws(Fault) {
            return Self.findings(try await self.queues())
        } catch {
            return [.wrong("cluster", "\(self.address.url): \(error.words)")]
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
        let names = queues.count == 1 ? queue.name : "\(queue.name) and \(Plural.of(queues.count - 1, "other queue"))"
        let online = queue.present.isEmpty ? "none" : queue.present.sorted().joined(separator: ", ")
        return "\(names): members \(queue.all.count), online \(online), leader \(queue.leader ?? "none"): "
            + "with one node less there is no majority, and work stands still; \(advice)"
    }

    // MARK: - Asking

    private func queues() async throws(Fault) -> [Queue] {
        let answer = try await self.answer(by: .now + self.patience)
        switch answer.status {
        case 200: break
        case 401, 403:
            let name = self.address.username
            throw Fault(words: "the user \(name) may not ask it: rabbitmqctl set_user_tags \(name) management")
        default: throw Fault(words: "answers \(answer.status) instead of 200")
        }
        switch answer.body {
        case .whole(let document):
            do { return try JSONDecoder().decode([Queue].self, from: Data(document.readableBytesView)) } catch {
                throw Fault(words: "does not answer as RabbitMQ's management API")
            }
        case .tooLong: throw Fault(words: "its answer is larger than 4 MiB")
        case .cut(let reason): throw Fault(words: "its answer \(reason)")
        }
    }

    /// With a client of its own: it is asked once.
    private func answer(by deadline: ContinuousClock.Instant) async throws(Fault) -> OutgoingAnswer {
        let trustFile = self.address.authorityFile
        let client = OutgoingClient {
            HTTPClient(eventLoopGroupProvider: .singleton, configuration: .outgoing(trustFile: trustFile))
        }
        let outcome: Result<OutgoingAnswer, NoAnswer>
        do throws(NoAnswer) {
            let peer = Peer(.management, logger: HostOptions.logger)
            outcome = .success(try await client.exchange(self.request, by: deadline, with: peer))
        } catch {
            outcome = .failure(error)
        }
        await client.close()
        do throws(NoAnswer) { return try outcome.get() } catch {
            let words =
                error.isStop
                ? "gave no complete answer within \(self.patience)"
                : "cannot be asked (\(error)): set broker.management_url"
            throw Fault(words: words)
        }
    }

    private var request: OutgoingRequest {
        let address = self.address
        let host = address.virtualHost.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let columns = "disable_stats=true&columns=name,leader,members,online"
        let account = Data("\(address.username):\(address.password)".utf8).base64EncodedString()
        return OutgoingRequest(
            .GET,
            "\(address.url)/api/queues/\(host)?\(columns)",
            headers: ["Authorization": "Basic \(account)"],
            longestAnswer: Self.maximumSize
        )
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
