import HTTPTypes
import HubWire
import PushModel

/// What a request asks for, by its method and path.
enum HubOperation: Sendable, Equatable {
    case createRegistrationID
    case createRegistration
    case listRegistrations
    case registrations(ofTag: String)
    case readRegistration(String)
    case putRegistration(String)
    case deleteRegistration(String)
    case listInstallations
    case readInstallation(String)
    case putInstallation(String)
    case patchInstallation(String)
    case deleteInstallation(String)
    case send
    case sendBatch
    case schedule
    case cancelScheduled(String)
    case telemetry(String)
    case listJobs
    /// One that the embedded hub has not, with the reason.
    case refused(String)

    /// Reads the path behind the hub's name, in any letter case, with or without a slash at its end; nil for no path of a hub.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The parts of the path, unescaped.
    init?(_ method: HTTPRequest.Method, _ path: [String]) {
        let id = path.count > 1 ? path[1] : ""
        switch (path.first?.lowercased() ?? "", path.count, method) {
        case ("registrationids", 1, .post): self = .createRegistrationID
        case ("registrations", 1, .post): self = .createRegistration
        case ("registrations", 1, .get): self = .listRegistrations
        case ("registrations", 2, .get): self = .readRegistration(id)
        case ("registrations", 2, .put): self = .putRegistration(id)
        case ("registrations", 2, .delete): self = .deleteRegistration(id)
        case ("tags", 3, .get) where path[2].lowercased() == "registrations": self = .registrations(ofTag: id)
        case ("installations", 1, .get): self = .listInstallations
        case ("installations", 2, .get): self = .readInstallation(id)
        case ("installations", 2, .put): self = .putInstallation(id)
        case ("installations", 2, .patch): self = .patchInstallation(id)
        case ("installations", 2, .delete): self = .deleteInstallation(id)
        case ("messages", 1, .post): self = .send
        case ("messages", 2, .post) where id.lowercased() == "$batch": self = .sendBatch
        case ("messages", 2, .get): self = .telemetry(id)
        case ("schedulednotifications", 1, .post): self = .schedule
        case ("schedulednotifications", 2, .delete): self = .cancelScheduled(id)
        case ("jobs", 1, .get): self = .listJobs
        case ("jobs", _, _):
            self = .refused("import and export jobs are not offered: use pushline registrations import and export")
        case ("feedbackcontainer", 1, .get):
            self = .refused(
                "the feedback container is not offered: GET /api/jobs/{id}/deliveries of the API has each device"
            )
        case ("", 0, _):
            self = .refused("hubs are declared with pushline apps apply, and cannot be read or changed here")
        default: return nil
        }
    }

    /// The right that a rule needs for it.
    var right: HubRule.Right {
        switch self {
        case .createRegistrationID, .createRegistration, .readRegistration, .putRegistration, .deleteRegistration,
            .readInstallation, .putInstallation, .patchInstallation, .deleteInstallation,
            // By a handle; all of them is for Manage.
            .listRegistrations:
            .listen
        case .send, .sendBatch, .schedule, .cancelScheduled, .telemetry: .send
        case .registrations, .listInstallations, .listJobs, .refused: .manage
        }
    }

    /// The most bytes of its body: a thousand handles alone are more than all other bodies may be.
    var maximumBody: Int {
        switch self {
        case .sendBatch: WireNames.maximumList
        default: WireNames.maximumBody
        }
    }

    /// The path for metrics and logs.
    var template: String {
        switch self {
        case .createRegistrationID: "/{hub}/registrationids"
        case .createRegistration, .listRegistrations: "/{hub}/registrations"
        case .registrations: "/{hub}/tags/{tag}/registrations"
        case .readRegistration, .putRegistration, .deleteRegistration: "/{hub}/registrations/{id}"
        case .listInstallations: "/{hub}/installations"
        case .readInstallation, .putInstallation, .patchInstallation, .deleteInstallation: "/{hub}/installations/{id}"
        case .send: "/{hub}/messages"
        case .sendBatch: "/{hub}/messages/$batch"
        case .telemetry: "/{hub}/messages/{id}"
        case .schedule: "/{hub}/schedulednotifications"
        case .cancelScheduled: "/{hub}/schedulednotifications/{id}"
        case .listJobs: "/{hub}/jobs"
        case .refused: "/{hub}"
        }
    }
}
