import CResources
import Payloads
import PushModel
import Store

/// The API's description: `openapi.yaml`, with what it says of each push service filled in, and with the paths of any app.
enum OpenAPIDocument {
    /// Made once for all who ask for it.
    static let text = {
        var text = Self.withPathsOfApps(Self.file)
        for (name, lines) in Self.properties {
            text.replace("$(\(name)):", with: lines.joined(separator: Self.lineOfProperties))
        }
        for (name, words) in Self.words { text.replace("$(\(name))", with: words) }
        return text
    }()

    private static var file: String {
        let file = unsafe openapi_file()
        return unsafe String(decoding: UnsafeBufferPointer(start: file.bytes, count: file.count), as: UTF8.self)
    }

    /// The file, and each path of the default app once more for any app: written out, for not every reader follows aliases of YAML.
    private static func withPathsOfApps(_ file: String) -> String {
        var copies = ""
        var isCopied = false
        for line in file.split(separator: "\n", omittingEmptySubsequences: false) {
            let path = line.hasPrefix("  /") ? line.dropFirst(2) : nil
            // The next path, or the end of them all.
            if path != nil || line.first.map({ $0 != " " }) == true {
                isCopied = path?.hasPrefix(Route.apiPrefix) == true
            }
            guard isCopied else { continue }
            if let path {
                copies += "  \(Route.appPrefix)\(path.dropFirst(Route.apiPrefix.count))\n    parameters:\n"
                copies += "      - $ref: \"#/components/parameters/App\"\n"
            } else if line.hasPrefix("      operationId: ") {
                copies += "\(line)OfApp\n"
            } else if line != "    parameters:" {
                // Those of the path itself follow the app's.
                copies += "\(line)\n"
            }
        }
        return file.replacing("\ncomponents:\n", with: "\n\(copies)components:\n", maxReplacements: 1)
    }

    /// What `$(name)` stands for in the file.
    private static let words: [String: String] = [
        "services": PushService.allCases.map(\.rawValue).joined(separator: ", "),
        "names of services": PushService.allCases.flatMap(\.names).joined(separator: ", "),
        "names in service": PushService.list(PushService.inService, otherNames: true),
        "pattern of names in service": Self.pattern(PushService.inService.flatMap(\.names)),
        "acts": ActKind.all.map(\.rawValue).joined(separator: ", "),
        "queues": WorkQueue.allCases.map(\.description).joined(separator: ", "),
        "forms of classic handles": PushService.allCases.map(Self.classicHandle).joined(separator: ", "),
        "forms of handles": PushService.allCases.map(Self.handle).joined(separator: ", "),
        "members of native": ServiceFormat.all.map { "\($0.service.rawValue): {}" }.joined(separator: ", "),
        "native has one of": ServiceFormat.all.map(Self.alternative).joined(separator: ", "),
        "rules of a message": MessageRule.schemas(of: nil).joined(separator: "\(Self.lineOfProperties)- "),
        "reserved names of data": ServiceFormat.all.compactMap(\.reservedNames).joined(separator: "|"),
        "required members of a job": JobMember.all.filter(\.isRequired).map(\.name).joined(separator: ", "),
    ]

    /// The lines of properties that `$(name):` stands for in the file, which is YAML itself so.
    private static let properties: [String: [String]] = [
        "forms in native": ServiceFormat.all.map(Self.form),
        "members of a message": Self.message,
        "no member of a message": Self.none(SendContent.members.filter { $0 != "liveActivity" }),
        "no neutral member of a message": Self.none(MessageMember.members(of: nil).map(\.name)),
        "nothing of services": ServiceFormat.all.map(Self.nothing),
        "options of a send": Self.options(["to"] + SendBody.options),
        "options of a Live Activity": Self.options(SendBody.options),
        "options of a broadcast": Self.options(SendBody.options.filter { $0 != "collapse" }),
        "counted names of a message": SendContent.others.map { "\($0): {}" },
        "members of a job": JobMember.all.flatMap(Self.member),
    ]

    /// A member of a job, whose schema is on one line or on several.
    private static func member(_ member: JobMember) -> [String] {
        let lines = member.schema.split(separator: "\n")
        return lines.count == 1 ? ["\(member.name): \(lines[0])"] : ["\(member.name):"] + lines.map { "  \($0)" }
    }

    /// The schema of a device of that service.
    private static func handle(_ service: PushService) -> String {
        let handle = service.descriptor.handle.pattern
        return "{properties: {service: {enum: [\(service.rawValue)]}, handle: {pattern: '\(handle)'}}}"
    }

    /// The schema of a registration at that service on a classic route.
    private static func classicHandle(_ service: PushService) -> String {
        let platform = Self.pattern(service.names)
        let handle = service.descriptor.handle.pattern
        return "{properties: {Platform: {pattern: '\(platform)'}, Handle: {pattern: '\(handle)'}}}"
    }

    /// A schema of what has a form for that service.
    private static func alternative(_ format: ServiceFormat) -> String {
        let name = format.service.rawValue
        return "{required: [\(name)], properties: {\(name): {type: object}}}"
    }

    /// Properties of which none is given.
    private static func none(_ names: [String]) -> [String] {
        names.map { "\($0): {type: \"null\"}" }
    }

    /// The object of what that service alone takes, where nothing is in it.
    private static func nothing(_ format: ServiceFormat) -> String {
        let names = MessageMember.members(of: format.service).map { "\($0.name): {type: \"null\"}" }
        return "\(format.service.rawValue): {type: [object, \"null\"], additionalProperties: false, "
            + "properties: {\(names.joined(separator: ", "))}}"
    }

    /// What every send may have, as it is written for a message.
    private static func options(_ names: [String]) -> [String] {
        names.map { "\($0): {$ref: \"#/components/schemas/SendOfMessage/properties/\($0)\"}" }
    }

    /// The end of a line, and the beginning of the next one among the file's properties of a schema.
    private static let lineOfProperties = "\n        "

    /// The form for that service, where the file has it: a member of `properties` of a schema.
    private static func form(_ format: ServiceFormat) -> String {
        let lines = ["\(format.service.rawValue):"] + format.form.schema.split(separator: "\n").map { "  \($0)" }
        return lines.joined(separator: Self.lineOfProperties)
    }

    /// The schemas of a message's members beside title, body and data.
    private static var message: [String] {
        func lines(_ pns: PushService?) -> [String] {
            MessageMember.members(of: pns).map { "\($0.name): \($0.member.value.schema)" }
        }
        return lines(nil)
            + ServiceFormat.all.flatMap { format -> [String] in
                [
                    "\(format.service.rawValue):", "  type: [object, \"null\"]", "  additionalProperties: false",
                    "  description: What \(format.service.descriptor.title) alone takes. For the roles sender and operator.",
                ] + Self.rules(of: format.service) + ["  properties:"]
                    + lines(format.service).map { "    \($0)" }
            }
    }

    /// What its members need or exclude of each other.
    private static func rules(of pns: PushService) -> [String] {
        let schemas = MessageRule.schemas(of: pns)
        return schemas.isEmpty ? [] : ["  allOf:"] + schemas.map { "    - \($0)" }
    }

    /// The regular expression of some words in any letter case.
    private static func pattern(_ words: [String]) -> String {
        let anyCase = words.map { word in word.map { "[\($0.uppercased())\($0.lowercased())]" }.joined() }
        return "^(\(anyCase.joined(separator: "|")))$"
    }
}
