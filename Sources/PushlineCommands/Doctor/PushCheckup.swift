import Payloads
import PushModel
import PushServices

/// A credential that an app declares.
struct DeclaredCredential: Sendable {
    let app: AppID
    let pns: PushService
    let name: CredentialName
    let spec: AppSpec

    /// What findings call it, such as `shop apns watch`.
    var subject: String {
        ([self.app.name, self.pns.rawValue] + (self.name.named.map { [$0.name] } ?? [])).joined(separator: " ")
    }

    static func all(of apps: [AppID: AppSpec]) -> [DeclaredCredential] {
        apps.sorted { $0.key < $1.key }.flatMap { app, spec in
            spec.services.flatMap { pns in
                spec.credentials.names(of: pns).map { DeclaredCredential(app: app, pns: pns, name: $0, spec: spec) }
            }
        }
    }
}

/// Which credentials to ask push services about; nil = any.
struct PushQuestion: Sendable {
    var app: AppID?
    var service: PushService?
    var credential: CredentialName?
    /// A device to send a notification to, with the only credential that is left; nil = none is sent.
    var device: String?

    func fits(_ declared: DeclaredCredential) -> Bool {
        (self.app ?? declared.app) == declared.app && (self.service ?? declared.pns) == declared.pns
            && (self.credential ?? declared.name) == declared.name
    }
}

/// Asks push services whether they take an app's credentials, with the senders of the delivery worker.
struct PushCheckup: Sendable {
    /// From the connection to the last byte, a token included.
    private static let patience = Duration.seconds(20)
    private static let text = "A test by pushline doctor: notifications reach this device."

    let senders: SenderRegistry

    func run(_ question: PushQuestion, _ apps: [AppID: AppSpec]) async -> [Finding] {
        let all = DeclaredCredential.all(of: apps)
        let chosen = all.filter(question.fits)
        guard !chosen.isEmpty else {
            let known = all.isEmpty ? "no app declares any" : "declared are \(Self.list(all))"
            return [.wrong("push", "nothing was asked: no such credential is declared (\(known))")]
        }
        guard let device = question.device else { return await self.ask(chosen) }
        guard chosen.count == 1 else {
            let words = "nothing was sent: choose one credential with --app, --service and --credential:"
            return [.wrong("push", "\(words) \(Self.list(chosen))")]
        }
        return [await self.notify(device, with: chosen[0])]
    }

    private static func list(_ credentials: [DeclaredCredential]) -> String {
        credentials.map(\.subject).joined(separator: ", ")
    }

    // MARK: - Without a device

    /// The services side by side; of one service one credential after the other, for it may take many connections for an attack.
    private func ask(_ credentials: [DeclaredCredential]) async -> [Finding] {
        let services = Dictionary(grouping: credentials.indices) { credentials[$0].pns }
        let found = await withTaskGroup(of: [(Int, Finding)].self) { group in
            for places in services.values {
                group.addTask {
                    var found: [(Int, Finding)] = []
                    for place in places {
                        if let finding = await self.ask(credentials[place]) { found.append((place, finding)) }
                    }
                    return found
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        return found.sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// - Returns: nil if its files cannot be read, which another finding says.
    private func ask(_ declared: DeclaredCredential) async -> Finding? {
        let (pns, subject) = (declared.pns, declared.subject)
        do throws(SenderError) {
            let sender = try self.sender(declared)
            guard let probe = try declared.spec.probe(for: pns, declared.name) else {
                let words =
                    "cannot be asked without a device (--device): the key pair can be read, and its keys belong together"
                return .right(subject, "\(pns.descriptor.title) \(words)")
            }
            let result = await Self.send(to: probe.device, isDryRun: probe.isDryRun, pns, sender)
            return switch result {
            case .accepted: .right(subject, probe.meaning)
            // 403: the answer to a device is about the sender, of another project.
            case .dead(_, let reason, let status) where status != 403:
                .right(subject, "\(probe.meaning) (of a device that does not exist: \(reason))")
            default: .wrong(subject, Self.fault(result, declared))
            }
        } catch {
            return nil
        }
    }

    // MARK: - With a device

    private func notify(_ device: String, with declared: DeclaredCredential) async -> Finding {
        let (pns, subject) = (declared.pns, declared.subject)
        let handle: Handle
        do throws(InvalidValue) {
            handle = try declared.spec.handle(device, of: pns)
        } catch {
            return .wrong(subject, "nothing was sent: --device: \(error.reason)")
        }
        do throws(SenderError) {
            let result = await Self.send(to: handle, isDryRun: false, pns, try self.sender(declared))
            guard result != .accepted else {
                let words =
                    "took a notification for \(handle): it is on its way, and the device decides whether to show it"
                return .right(subject, "\(pns.descriptor.title) \(words)")
            }
            return .wrong(subject, "\(handle): \(Self.fault(result, declared))")
        } catch {
            return .wrong(subject, "nothing was sent: \(error.message)")
        }
    }

    // MARK: - Sending

    private func sender(_ declared: DeclaredCredential) throws(SenderError) -> any PushSender {
        try self.senders.sender(app: declared.app, pns: declared.pns, credential: declared.name, spec: declared.spec)
    }

    private static func send(
        to handle: Handle,
        isDryRun: Bool,
        _ pns: PushService,
        _ sender: any PushSender
    ) async -> DeviceResult {
        let message = Content.message(Content.Message(title: "Pushline", body: Self.text))
        let payload: NativePayload
        do throws(InvalidValue) { payload = try PayloadFormatter.format(message, for: pns) } catch {
            return .rejected(reason: error.reason, status: nil)
        }
        var devices = DeliverBatch.Devices()
        devices.rows = [1]
        devices.handles = HandleList([handle])
        var request = PushRequest(
            payload: payload,
            job: .make(),
            priority: .high,
            devices: devices,
            deadline: .now + Self.patience
        )
        request.isDryRun = isDryRun
        return await sender.send(request).first ?? .unsent
    }

    // MARK: - What it means

    /// What is wrong, and what to do.
    private static func fault(_ result: DeviceResult, _ declared: DeclaredCredential) -> String {
        let title = declared.pns.descriptor.title
        func advised(
            _ words: String,
            _ reason: String,
            _ status: Int?,
            detail: String? = nil,
            or other: String
        ) -> String {
            let all = [reason, detail].compactMap { $0 }.joined(separator: "; ")
            let advice = declared.spec.advice(on: reason, status: status, at: declared.pns, declared.name)
            return "\(title) \(words): \(Self.said(all, status)); \(advice ?? other)"
        }
        switch result {
        case .misconfigured(let reason, let status, let detail):
            let other = "correct the key, ids or files in the app's declaration"
            return advised("refuses the credential", reason, status, detail: detail, or: other)
        case .dead(_, let reason, let status):
            return advised(
                "does not know the device as this app's",
                reason,
                status,
                or: "use the device's current token"
            )
        case .rejected(let reason, let status):
            return advised(
                "does not take the notification",
                reason,
                status,
                or: "check endpoint in the app's declaration"
            )
        case .retry(_, _, _, let reason, let status?):
            return advised("does not take it now", reason, status, or: "ask again later")
        case .retry(_, _, _, let reason, nil):
            return "\(title) could not be asked: \(reason); can this host reach it (names, firewall, trust_file)?"
        case .unanswered(let reason):
            return "\(title) was asked, and whether it took it is not known: \(reason); ask again later"
        case .unsent: return "\(title) could not be asked in time: can this host reach it (names, firewall)?"
        case .together(let other): return Self.fault(other, declared)
        case .accepted, .unknown, .settled: return "\(title) was not asked"
        }
    }

    /// The service's word with its status, which may be all that there is.
    private static func said(_ reason: String, _ status: Int?) -> String {
        guard let status, !reason.hasPrefix("status \(status)") else { return reason }
        return "\(reason) (status \(status))"
    }
}
