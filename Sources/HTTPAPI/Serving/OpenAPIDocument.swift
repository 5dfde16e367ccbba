import CResources
import PushModel

/// The API's description: `openapi.yaml`, with the lists of push services filled in.
enum OpenAPIDocument {
    /// Made once for all who ask for it.
    static let text = Self.lists.reduce(into: Self.file) {
        text,
        list in
        text.replace("$(\(list.key))", with: list.value)
    }

    private static var file: String {
        let file = unsafe openapi_file()
        return unsafe String(decoding: UnsafeBufferPointer(start: file.bytes, count: file.count), as: UTF8.self)
    }

    /// The replacements of `$(name)` in the file.
    private static let lists = [
        "services": PushService.allCases.map(\.rawValue).joined(separator: ", "),
        "names of services": PushService.allCases.flatMap(\.names).joined(separator: ", "),
        "names in service": PushService.list(PushService.inService),
        "pattern of names in service": Self.pattern(PushService.inService.flatMap(\.names)),
        "push types of APNs": APNsPushType.all.map(\.kind.rawValue).joined(separator: ", "),
        "queues": WorkQueue.allCases.map(\.description).joined(separator: ", "),
        "forms of classic handles": PushService.allCases.map(Self.classicHandle).joined(separator: ", "),
        "forms of handles": PushService.allCases.map(Self.handle).joined(separator: ", "),
    ]

    /// The schema of a device of that service.
    private static func handle(_ service: PushService) -> String {
        let names = service.names.joined(separator: ", ")
        return "{properties: {pns: {enum: [\(names)]}, handle: {pattern: '\(service.descriptor.handle.pattern)'}}}"
    }

    /// The schema of a registration at that service on a classic route.
    private static func classicHandle(_ service: PushService) -> String {
        let platform = Self.pattern(service.names)
        let handle = service.descriptor.handle.pattern
        return "{properties: {Platform: {pattern: '\(platform)'}, Handle: {pattern: '\(handle)'}}}"
    }

    /// The regular expression of some words in any letter case.
    private static func pattern(_ words: [String]) -> String {
        let anyCase = words.map { word in word.map { "[\($0.uppercased())\($0.lowercased())]" }.joined() }
        return "^(\(anyCase.joined(separator: "|")))$"
    }
}
