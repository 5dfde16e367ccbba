import ArgumentParser
import Foundation
import PushModel
import PushlineClient

/// `pushline send`.
struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send a notification to users, to the devices with a tag, to single devices or to all.",
        discussion: """
            Examples: pushline send --user ann --title Hello "It works" --watch
                      pushline send --users names.txt --title News "Come and see"
                      pushline send --tags 'beta && (ios || android) && !muted' --count
                      pushline send --handle apns:740f4707bebcf74f9b7c25d48e335894 --handle fcm:cT8…:APA91b… "It works"
                      pushline send --tag sales --json message.json
                      pushline send --handle apns:80f1a2… --activity update --state '{"gate": 8}'

            Many at once: pushline send --batch sends.ndjson, a line of JSON for each as POST /api/sends takes it; - reads
            standard input. Repeat it with the same --idempotency-key and file when it breaks off: nothing is sent twice.

            With --watch the exit code is 0 when the job completed: every device is accounted for, whatever came of it.
            """
    )

    @OptionGroup var server: ServerOptions

    @Option(
        help: ArgumentHelp("Send each line of this NDJSON file as its own send.", valueName: "file"),
        completion: .file()
    )
    var batch: String?

    @Option(help: "Send to all devices of this user; repeatable.")
    var user: [String] = []

    @Option(
        help: ArgumentHelp(
            "Send to the users listed in this file, one name per line, at most 20,000; - reads standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var users: String?

    @Option(help: "Send to the devices with this tag; repeatable (any of them).")
    var tag: [String] = []

    @Option(help: "Send to the devices that match this tag expression (!, &&, ||, parentheses).")
    var tags: String?

    @Option(
        help: ArgumentHelp(
            "Send to the device with this handle, registered or not; repeatable. service/credential:handle for one that is reached with "
                + "another credential than the default one.",
            valueName: "service:handle"
        )
    )
    var handle: [String] = []

    @Option(help: ArgumentHelp("Send to the device of this registration; repeatable.", valueName: "id"))
    var registration: [String] = []

    @Option(
        help: ArgumentHelp(
            "Send to the Live Activities that listen to this broadcast channel of APNs; credential:id for one of another credential than the "
                + "default one.",
            valueName: "id"
        )
    )
    var channel: String?

    @Flag(help: "Send to all devices of the app.")
    var all = false

    @Flag(help: "Send nothing; print how many devices would receive it.")
    var count = false

    @Flag(help: "Send nothing; print what each push service would get: headers, payload and size.")
    var preview = false

    @Flag(help: "Do everything but the push, which FCM validates: no device gets it.")
    var dryRun = false

    @OptionGroup(title: "The message") var message: MessageOptions

    @OptionGroup(title: "Live Activities") var activity: LiveActivityOptions

    @Option(
        help: "\(PushService.list(PushService.inService)); may be repeated. All unless given.",
        completion: KnownValues.sendingServices
    )
    var service: [String] = []

    @Option(help: "high or normal.", completion: KnownValues.priorities)
    var priority: String?

    @Option(
        help:
            "Time to live in seconds: the job ends then, and push services are told to keep it no longer. 0 = try once. Default: the job ends after 24 h; the push service keeps what it has accepted as long as it likes."
    )
    var ttl: Int?

    @Option(help: "Collapse key: replaces an undelivered notification with the same key.")
    var collapse: String?

    @Option(help: "Scheduled time, as 2026-12-24T18:00:00Z or +30m. Default: now.")
    var at: String?

    @Option(help: "A name of your own for it, such as a campaign's: pushline jobs --label lists those that have it.")
    var label: String?

    @Option(help: "Idempotency key: repeating the send with the same key sends nothing twice.")
    var idempotencyKey: String?

    @Flag(help: "Follow the progress until the outcome is final.")
    var watch = false

    @Option(help: "With --watch: maximum wait, in seconds.")
    var within: Int = 3600

    func validate() throws {
        if self.batch != nil {
            let others: [Any?] = [self.priority, self.ttl, self.collapse, self.at, self.label]
            guard others.allSatisfy({ $0 == nil }), try self.message.isEmpty, self.activity.isEmpty, self.targets == 0,
                !self.count, self.service.isEmpty, !self.watch, !self.preview, !self.dryRun
            else {
                throw ValidationError(
                    "--batch takes everything from the file's lines; only --idempotency-key may be given beside it."
                )
            }
            return
        }
        guard self.message.file != "-" || self.users != "-" else {
            throw ValidationError("Only one of --users, --json and --native can read standard input.")
        }
        guard self.targets <= 1 else { throw ValidationError("Give only one of \(Self.targetNames).") }
        for text in self.handle where Self.recipient(text) == nil {
            throw ValidationError("--handle takes service:handle, as apns:740f47…, not \"\(text.prefix(12))…\".")
        }
        guard self.within > 0 else { throw ValidationError("--within must be at least 1.") }
        guard [self.count, self.watch, self.preview].count(where: { $0 }) <= 1 else {
            throw ValidationError("Give only one of --count, --preview and --watch.")
        }
        // What is in the file could name other services than those counted.
        guard !self.count || self.message.file == nil else {
            throw ValidationError("--count reads no file of --json or --native; name the services with --service.")
        }
        // The file is read once, when all else is right.
        if !self.count { _ = try self.notification(to: .user("")) }
    }

    /// Refuses a send without a recipient or without contents.
    ///
    /// Parsing calls ``validate()`` before it reports unknown options: checked there, a misspelt option would look like a missing one.
    func requireParts() throws {
        guard self.batch == nil else { return }
        guard self.targets > 0 else {
            throw CommandFailure.usage("there is no recipient: give one of \(Self.targetNames)")
        }
        guard self.count || self.message.hasContent || !self.activity.isEmpty else {
            throw CommandFailure.usage(
                "there is nothing to send: give a text, \(MessageOptions.contentNames) or --activity"
            )
        }
    }

    private static let targetNames = "--user, --users, --tag, --tags, --handle, --registration, --channel and --all"

    /// How many kinds of recipients are given.
    private var targets: Int {
        [
            !self.user.isEmpty, self.users != nil, !self.tag.isEmpty, self.tags != nil, !self.handle.isEmpty,
            !self.registration.isEmpty, self.channel != nil, self.all,
        ].count { $0 }
    }

    /// A handle with its service, and perhaps a credential, before it; nil without a service.
    private static func recipient(_ text: String) -> PushNotification.Recipient? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let names = text[..<colon].split(separator: "/", maxSplits: 1).map(String.init)
        guard let service = names.first, let known = PushService(rawValue: service) else { return nil }
        return PushNotification.Recipient(
            service: .init(rawValue: known.rawValue),
            handle: String(text[text.index(after: colon)...]),
            credential: names.count > 1 ? names[1] : nil
        )
    }

    func run() async throws {
        try self.requireParts()
        let client = try self.server.client()
        if let batch = self.batch {
            let key = self.idempotencyKey ?? UUID().uuidString
            return try await SendLines(client: client, options: self.server, key: key).run(batch)
        }
        let list = try self.users.map { try UserList.read($0) }
        do {
            try await self.send(client, to: self.audience(list))
        } catch let error as PushlineError where list != nil {
            throw CommandFailure.failed(Rejection(error: error) { list?.name(of: $0) ?? $0 }.text)
        }
    }

    func send(_ client: PushlineClient, to audience: PushNotification.Audience) async throws {
        if self.count { return try await self.showCount(client, audience) }
        let notification = try self.notification(to: audience)
        let file = try self.message.members()
        if self.preview {
            let preview = try await client.preview(notification, adding: file)
            return try self.server.show(preview) {
                preview.services.flatMap(PreviewText.lines) + PreviewText.lines(preview.warnings)
            }
        }
        let job = try await client.send(
            notification,
            adding: file,
            idempotencyKey: self.idempotencyKey ?? UUID().uuidString
        )
        guard self.watch else {
            try self.server.show(job) {
                ["\(job.id)  \(JobLines(job: job).progress)"] + PreviewText.lines(job.warnings)
            }
            if self.at != nil { Console.note("To cancel it before it starts: pushline jobs cancel \(job.id)") }
            return
        }
        // The job that is watched has no warnings: they are in the answer to the send alone.
        PreviewText.lines(job.warnings).forEach(Console.note)
        try await JobWatch(client: client, options: self.server, time: .seconds(self.within)).run(job.id)
    }

    private func showCount(_ client: PushlineClient, _ audience: PushNotification.Audience) async throws {
        let count = try await client.count(audience, services: self.services)
        try self.server.show(count) {
            var table = Table(["service", "devices"], numeric: [1])
            // What nothing is sent through any more is worth a line where a device still has it.
            let sending = Set(PushService.inService.map(\.rawValue))
            for (service, number) in count.counts.sorted(by: { $0.key < $1.key })
            where number > 0 || sending.contains(service) {
                table.add([service, String(number)])
            }
            table.add(["all", String(count.total)])
            return table.lines + (count.isComplete ? [] : ["There are more: the server's time for counting was over."])
        }
    }

    private var services: [PushNotification.Service]? {
        self.service.isEmpty ? nil : self.service.map(PushNotification.Service.init(rawValue:))
    }

    func notification(to audience: PushNotification.Audience) throws -> PushNotification {
        var priority: PushNotification.Priority?
        if let word = self.priority {
            priority = PushNotification.Priority(rawValue: word)
            guard priority != nil else { throw ValidationError("--priority is high or normal.") }
        }
        let start = try self.at.map { text in
            guard let date = Moment.ahead(text) else {
                throw ValidationError("--at takes a time as in 2026-12-24T18:00:00Z, or +30m.")
            }
            return date
        }
        var notification = PushNotification(
            to: audience,
            services: self.services,
            priority: priority,
            ttl: self.ttl,
            collapse: self.collapse,
            at: start,
            label: self.label,
            dryRun: self.dryRun ? true : nil
        )
        if self.activity.isEmpty {
            try self.message.fill(&notification)
        } else {
            notification.liveActivity = try self.activity.activity(alert: self.message)
        }
        return notification
    }

    /// The audience.
    ///
    /// - Parameter list: The contents of the file of `--users`.
    /// - Returns: The audience.
    func audience(_ list: UserList? = nil) -> PushNotification.Audience {
        if let list { return .users(list.names) }
        if !self.user.isEmpty { return self.user.count == 1 ? .user(self.user[0]) : .users(self.user) }
        if let expression = self.tags { return .matching(expression) }
        if !self.handle.isEmpty { return .handles(self.handle.compactMap(Self.recipient)) }
        if !self.registration.isEmpty { return .registrations(self.registration) }
        if let channel = self.channel?.split(separator: ":", maxSplits: 1).map(String.init), let id = channel.last {
            return .channel(id, credential: channel.count > 1 ? channel[0] : nil)
        }
        if self.all { return .all }
        return self.tag.count == 1 ? .tag(self.tag[0]) : .tags(self.tag)
    }
}
