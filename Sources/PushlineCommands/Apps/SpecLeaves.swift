import PushModel

extension AppSpec {
    /// The declaration's keys with what they say, such as `apns.key_id`, defaults included.
    var leaves: [(path: String, text: String)] { Self.leaves(of: self.written, path: "") }

    private static func leaves(of value: JSONValue, path: String) -> [(path: String, text: String)] {
        switch value {
        case .object(let members):
            members.flatMap { self.leaves(of: $0.value, path: path.isEmpty ? $0.name : "\(path).\($0.name)") }
        default: [(path, self.text(value))]
        }
    }

    private static func text(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): text
        case .array(let values): "[\(values.map(self.text).joined(separator: ", "))]"
        default: value.compactText
        }
    }

    /// The differences from a later declaration: path, old text, new text; nil = absent.
    func changes(to later: AppSpec) -> [(path: String, old: String?, new: String?)] {
        let old = Dictionary(self.leaves, uniquingKeysWith: { $1 })
        let new = Dictionary(later.leaves, uniquingKeysWith: { $1 })
        return Set(old.keys).union(new.keys).sorted()
            .filter { old[$0] != new[$0] }
            .map { (path: $0, old: old[$0], new: new[$0]) }
    }
}
