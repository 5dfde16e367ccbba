/// The body of a register or send message: a hint at a row of the store (rule 1).
///
/// JSON: `{"version":1,"app":"default","job":"…"}`. A reader takes this version and the one before (rule 7).
package struct JobEnvelope: Codable, Sendable, Equatable {
    package static let currentVersion = 1

    package let version: Int
    package let app: AppID
    package let job: JobID

    package init(app: AppID, job: JobID) {
        self.version = Self.currentVersion
        self.app = app
        self.job = job
    }
}
