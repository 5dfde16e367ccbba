import PushlineClient

extension RegistrationsCommand {
    /// Registrations as a table for a terminal.
    static func lines(_ registrations: [Registration]) -> [String] {
        var table = Table([
            "registration", "user", "service", "handle", "credential", "state", "updated", "tags", "ended",
        ])
        for one in registrations {
            table.add([
                one.id, one.user, one.service?.rawValue, one.handle, one.credential, one.state,
                JobLines.moment(one.updated),
                one.tags.joined(separator: " "), one.ended.map { "\(JobLines.moment($0.at)) \($0.reason)" },
            ])
        }
        return table.lines
    }
}
