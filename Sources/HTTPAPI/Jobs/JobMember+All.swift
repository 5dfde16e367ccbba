import Intake
import PushModel
import Store

extension JobMember {
    /// All of them, in the order of the answer: first those of every job.
    static let all = [Self.ofEveryJob, Self.ofRegister, Self.ofAudience, Self.ofSend, Self.ofAnswer].flatMap(\.self)

    private static let ofEveryJob: [JobMember] = [
        .text("id", "{type: string, format: uuid}", required: true) { $0.id },
        .text("href", required: true) { $0.location },
        .text("app", required: true) { $0.job.app.name },
        .text("kind", Self.oneOf(JobKind.allCases), required: true) { $0.job.work.kind.rawValue },
        .text("state", Self.reference("JobState"), required: true) { $0.job.state.rawValue },
        .flag("isFinal", required: true) { $0.job.state.isFinal },
        .text("reason", #"{description: "Why it was abandoned, or what it waits for.", type: string}"#) {
            $0.job.reason ?? $0.blockedReason
        },
        .text("user") { $0.job.user?.name }, .text("key") { $0.job.key },
        .text("label", Self.reference("Label")) { $0.job.label?.text },
        .text("priority", Self.oneOf(Priority.allCases), required: true) { $0.job.priority.rawValue },
        .time("accepted", required: true) { $0.accepted }, .time("started") { $0.started },
        .time("finished") { $0.finished }, .time("at", "When it was asked to start.") { $0.startsAt },
        .time("expires", required: true) { $0.expires },
        .time("due", #""When the next try is due, or a scheduled send starts.""#) { $0.due },
    ]

    private static let ofRegister: [JobMember] = [
        .value(
            "result",
            """
            description: Of a register job.
            type: object
            required: [status]
            properties:
              status: {enum: [issued, done, superseded, gone, not-found, refused, unknown]}
              registration: {type: string}
              channel:
                description: The broadcast channel that was made or shown; a job that listed channels does not show them.
                $ref: "#/components/schemas/ChannelItem"
              reason: {type: string}
            """
        ) { $0.result }
    ]

    /// Whom a send is for.
    private static let ofAudience: [JobMember] = [
        .flag(
            "dryRun",
            #"{description: "True of a send that no device gets; its counts are those that it would have had.", type: boolean}"#
        ) { $0.send?.isDryRun == true ? true : nil },
        .words(
            "to",
            """
            description: Of a send to devices that have one of these tags; of many the first 100. Users are told by their tags.
            type: array
            maxItems: \(SendRequest.previewTags)
            items: {$ref: "#/components/schemas/AudienceTag"}
            """
        ) { $0.tags?.prefix(SendRequest.previewTags).map(\.name) },
        .whole(
            "toCount",
            """
            description: How many tags those are, where not all are in `to`.
            type: integer
            minimum: \(SendRequest.previewTags + 1)
            """
        ) { job in
            guard let tags = job.tags, let send = job.send else { return nil }
            let count = tags.count + send.truncatedTags
            return count > min(tags.count, SendRequest.previewTags) ? count : nil
        },
        .text(
            "expression",
            """
            description: Of a send to any other audience, its tag expression; a long one is cut and ends with an ellipsis.
            type: string
            """
        ) { $0.tags == nil ? $0.selection.map(JobText.shortened) : nil },
        .part(
            "recipients",
            """
            description: Of a send to a list of devices, or to all.
            type: object
            required: [kind]
            properties:
              kind: {enum: [handles, registrations, all]}
              given:
                description: How many devices the list named.
                type: integer
                minimum: 1
              count:
                description: How many of them it is for; each counts once, only at the send's services, and a registration only where it was there.
                type: integer
                minimum: 0
            """,
            { $0.selection == nil ? $0.send?.audience : nil },
            { audience, recipients in
                guard case .list(let list) = audience else { return recipients.add("kind", "all") }
                recipients.add("kind", list.kind.rawValue)
                recipients.add("given", list.given)
                recipients.add("count", list.count)
            }
        ),
        .words("services", "{type: array, items: \(Self.reference("Service"))}") { job in
            job.send.flatMap { $0.platforms.isEmpty ? nil : $0.platforms.map(\.rawValue) }
        },
    ]

    /// What has become of a send.
    private static let ofSend: [JobMember] = [
        .part(
            "counts",
            """
            description: By service.
            type: object
            additionalProperties: {$ref: "#/components/schemas/Counts"}
            """,
            { $0.send == nil ? nil : $0.job.counts.sorted { $0.key < $1.key } },
            { services, counts in
                for (pns, devices) in services { counts.add(pns.rawValue) { JobText.write(devices, to: &$0) } }
            }
        ),
        .part(
            "totals",
            Self.reference("Counts"),
            { $0.send == nil ? nil : $0.total },
            { JobText.write($0, to: &$1) }
        ),
        .value(
            "progress",
            """
            description: >-
              The share of a send's devices whose outcome is known; below 1 until the job is over. Of a send that was stopped, the share that
              was not cancelled or expired; absent where nobody knows how many there would have been.
            type: number
            minimum: 0
            maximum: 1
            """
        ) { $0.progress.map { .number(String(($0 * 1000).rounded(.down) / 1000)) } },
        .whole(
            "fannedOut",
            """
            description: Of a send that is running or was stopped; devices in batches so far.
            type: integer
            minimum: 0
            """
        ) { $0.job.progress?.devices },
        .whole(
            "estimate",
            """
            description: >-
              Of a send that is running or was stopped; how many devices there will be, or would have been, a guess until all are in batches;
              absent until then for a list.
            type: integer
            minimum: 0
            """
        ) { $0.job.progress == nil ? nil : $0.whole },
        .value(
            "rate",
            """
            description: Of a running send; devices a second over the last seconds.
            type: number
            minimum: 0
            """
        ) { $0.rates.map { .number(String(($0.values.reduce(0, +) * 10).rounded() / 10)) } },
        .whole(
            "secondsLeft",
            """
            description: Of a running send; the seconds that its slowest service still needs, at its own rate.
            type: integer
            minimum: 0
            """
        ) { $0.secondsLeft },
        .part(
            "hub",
            """
            description: >-
              Of a send of an app whose hub is an Azure hub; only where the job is asked for by its id. The counts of such a job are of
              calls, not of devices.
            type: object
            required: [kind, calls]
            properties:
              kind: {enum: [\(HubCallsText.kind)]}
              note:
                description: >-
                  What is known of the devices, in words; absent until the hub has taken a call.
                type: string
              calls:
                description: The first \(HubCallsText.most), one for each push service and expression, or for each handle.
                type: array
                maxItems: \(HubCallsText.most)
                items: {$ref: "#/components/schemas/HubCall"}
              more:
                description: True where there are more.
                type: boolean
            """,
            { $0.calls },
            { HubCallsText.write($0, to: &$1) }
        ),
    ]

    /// What the answer to a send alone says of it.
    private static let ofAnswer: [JobMember] = [
        .value(
            "warnings",
            """
            description: Of a send, in the answer to it alone; members that no service of the send takes; absent = none.
            type: array
            items: {$ref: "#/components/schemas/Warning"}
            """
        ) { $0.warnings.isEmpty ? nil : PreviewJSON.json($0.warnings) }
    ]

    private static func reference(_ schema: String) -> String { "{$ref: \"#/components/schemas/\(schema)\"}" }

    private static func oneOf<Word: RawRepresentable<String>>(_ words: [Word]) -> String {
        "{enum: [\(words.map(\.rawValue).joined(separator: ", "))]}"
    }
}
