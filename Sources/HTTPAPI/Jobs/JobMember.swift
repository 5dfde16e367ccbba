import Intake
import PushModel
import Store

/// A member of a job's JSON: its name, its schema, and its value.
///
/// The one table of them makes each answer with a job and the schema `Job` of the API's description.
struct JobMember: Sendable {
    let name: String
    /// Its schema in the API's description, in YAML.
    let schema: String
    /// Whether every job has it.
    let isRequired: Bool
    /// Writes it, where the job has it.
    let write: @Sendable (JobText, inout JSONWriter) -> Void

    // MARK: Kinds of values; nil = the job does not have the member

    static func text(
        _ name: String,
        _ schema: String = "{type: string}",
        required: Bool = false,
        _ value: @escaping @Sendable (JobText) -> String?
    ) -> JobMember {
        JobMember(name: name, schema: schema, isRequired: required) { $1.add(name, value($0)) }
    }

    static func time(
        _ name: String,
        _ description: String? = nil,
        required: Bool = false,
        _ value: @escaping @Sendable (Job) -> Timestamp?
    ) -> JobMember {
        let words = description.map { "description: \($0), " } ?? ""
        return JobMember(name: name, schema: "{\(words)type: string, format: date-time}", isRequired: required) {
            $1.add(name, value($0.job))
        }
    }

    static func flag(
        _ name: String,
        _ schema: String = "{type: boolean}",
        required: Bool = false,
        _ value: @escaping @Sendable (JobText) -> Bool?
    ) -> JobMember {
        JobMember(name: name, schema: schema, isRequired: required) { job, members in
            if let value = value(job) { members.add(name, value) }
        }
    }

    static func whole(
        _ name: String,
        _ schema: String,
        _ value: @escaping @Sendable (JobText) -> Int?
    ) -> JobMember {
        JobMember(name: name, schema: schema, isRequired: false) { $1.add(name, value($0)) }
    }

    static func value(
        _ name: String,
        _ schema: String,
        _ value: @escaping @Sendable (JobText) -> JSONValue?
    ) -> JobMember {
        JobMember(name: name, schema: schema, isRequired: false) { $1.add(name, value($0)) }
    }

    /// A part that is written member by member, for jobs are read often.
    static func part<Part>(
        _ name: String,
        _ schema: String,
        _ part: @escaping @Sendable (JobText) -> Part?,
        _ write: @escaping @Sendable (Part, inout JSONWriter) -> Void
    ) -> JobMember {
        JobMember(name: name, schema: schema, isRequired: false) { job, members in
            guard let part = part(job) else { return }
            members.add(name) { write(part, &$0) }
        }
    }

    /// Words in the order of an array.
    static func words(
        _ name: String,
        _ schema: String,
        _ words: @escaping @Sendable (JobText) -> [String]?
    ) -> JobMember {
        JobMember(name: name, schema: schema, isRequired: false) { job, members in
            guard let words = words(job) else { return }
            members.addArray(name) { for word in words { $0.append(word) } }
        }
    }
}
