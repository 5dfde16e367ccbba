import Foundation
import OutgoingHTTP
import PushModel
import PushServices
import PushlineClient

/// Asks a running installation over HTTP, from any host: neither its configuration nor its store is needed.
struct ServerCheckup: Sendable {
    /// Clocks that differ by more are worth a word: Apple takes tokens of an hour, apps' own issuers are stricter.
    private static let tolerance = Duration.seconds(30)
    private static let mostDead = 100

    /// Without credentials what they would show is left out.
    let client: PushlineClient

    func run() async -> [Finding] {
        let certificate = await self.certificate()
        let (health, isThere) = await self.health()
        guard isThere else { return certificate + health }
        return certificate + health + (await self.readiness()) + (await self.signIn())
    }

    // MARK: - What anybody may ask

    private func certificate() async -> [Finding] {
        let url = self.client.url
        guard url.scheme == "https", let host = url.host else { return [] }
        let name = String(host.trimmingPrefix("[").prefix { $0 != "]" })
        // Where it shows none, the request that follows says why.
        guard let end = await PresentedCertificate.end(host: name, port: url.port ?? 443) else { return [] }
        let expiry = CredentialExpiry(setting: "certificate", end: end)
        let words = "the certificate of \(name) \(expiry.words())"
        guard expiry.isNear() else { return [.right("certificate", words)] }
        let advised = "\(words): renew it"
        return [expiry.days() < 0 ? .wrong("certificate", advised) : .right("certificate", advised)]
    }

    private struct Health: Decodable {
        let status: String
        let version: String
    }

    /// Whether Pushline answers, and which version, at what time.
    ///
    /// - Returns: The findings, and whether anything more can be asked.
    private func health() async -> (findings: [Finding], isThere: Bool) {
        let (place, start) = (self.client.place, Timestamp.now)
        do {
            let answer = try await self.client.answer(at: "/healthz")
            guard answer.status == 200, let health = try? JSONDecoder().decode(Health.self, from: answer.body) else {
                let words =
                    "\(place)/healthz answers \(answer.status), and not as Pushline does: check --url, and whether a proxy before it "
                    + "lets /healthz and /readyz through"
                return ([.wrong("server", words)], self.client.hasCredentials)
            }
            let own = health.version == pushlineVersion ? "" : " (this pushline is \(pushlineVersion))"
            let server = Finding.right("server", "\(place) answers: Pushline \(ForeignText.word(health.version))\(own)")
            return ([server] + Self.clock(answer.headers["date"], from: start, to: .now), true)
        } catch {
            return ([.wrong("server", Self.words(error))], false)
        }
    }

    /// Compares the clocks.
    ///
    /// - Parameters:
    ///   - date: The answer's time, in whole seconds.
    ///   - start: When it was asked for, by this host's clock.
    ///   - end: When it had come.
    /// - Returns: A finding; none if the answer has no time.
    static func clock(_ date: String?, from start: Timestamp, to end: Timestamp) -> [Finding] {
        guard let date = date.flatMap({ RetryAfter.date($0) }) else { return [] }
        let (early, late) = (date.duration(to: start), end.duration(to: date))
        guard max(early, late) > Self.tolerance else {
            return [.right("clock", "the server's clock agrees with this host's")]
        }
        let (seconds, word) = early > late ? (early, "behind") : (late, "ahead of")
        let words =
            "the server's clock is \(Int(seconds.inSeconds)) s \(word) this host's: set the one that is wrong; push services refuse tokens "
            + "of a wrong time"
        return [.wrong("clock", words)]
    }

    private struct Readiness: Decodable {
        let store: String
        let broker: String
    }

    private func readiness() async -> [Finding] {
        do {
            let answer = try await self.client.answer(at: "/readyz")
            guard let state = try? JSONDecoder().decode(Readiness.self, from: answer.body) else {
                return [.wrong("readiness", "/readyz answers \(answer.status), and not as Pushline does")]
            }
            let store =
                state.store == "reachable"
                ? Finding.right("store", "reachable")
                : .wrong("store", "the server cannot reach it, and answers 503: pushline doctor on its host says why")
            return [store, Self.broker(state.broker)]
        } catch {
            return [.wrong("readiness", Self.words(error))]
        }
    }

    private static func broker(_ state: String) -> Finding {
        switch state {
        case "connected": .right("broker", "connected")
        case "blocked":
            .wrong(
                "broker",
                "accepts no messages: sends are accepted and wait; free its memory or disk (rabbitmqctl status)"
            )
        default:
            .wrong(
                "broker",
                "\(ForeignText.word(state)): sends are accepted and wait; start RabbitMQ; pushline doctor on the server's host says more"
            )
        }
    }

    // MARK: - With a key

    private func signIn() async -> [Finding] {
        guard self.client.hasCredentials else {
            return [.right("sign-in", "not tried: give --key, or set PUSHLINE_KEY")]
        }
        let app = self.client.app ?? AppID.default.name
        do {
            let queues = try await self.client.queues().items
            return [.right("sign-in", "the key is an operator's of app \(app)")]
                + queues.filter(\.paused).map { self.paused($0, app) } + (try await self.dead(app))
        } catch let error as PushlineError where error.code == .forbidden {
            return [
                .right("sign-in", "the key is known to app \(app); an operator's shows queues and dead letters too")
            ]
        } catch {
            return [.wrong("sign-in", Self.words(error))]
        }
    }

    private func paused(_ queue: QueueStatus, _ app: String) -> Finding {
        let isOfAll = queue.pauses.contains(where: \.allApps)
        let option = isOfAll ? "--all-apps (on the server's host)" : "--app \(app)"
        return .wrong(
            "queue \(queue.name)",
            "work of app \(app) is \(QueueText.state(queue)): pushline queues resume \(queue.name) \(option)"
        )
    }

    private func dead(_ app: String) async throws -> [Finding] {
        let letters = try await self.client.deadLetters(limit: Self.mostDead)
        guard !letters.items.isEmpty else { return [] }
        let number = letters.cursor == nil ? "\(letters.items.count)" : "\(Self.mostDead) or more"
        return [.wrong("dead letters", "\(number) to replay or discard: pushline dead --app \(app)")]
    }

    /// An error with what to do, in one line.
    private static func words(_ error: any Error) -> String {
        (error as? PushlineError).map { Rejection(error: $0).text } ?? "\(error)"
    }
}
