package import Settings
package import Store

extension RetentionSettings {
    /// The retention time of each kind of finished data.
    package var ages: [Retained: Duration] {
        [
            .jobs: self.jobs, .devices: self.devices, .contents: self.contents, .registrations: self.registrations,
            .deadLetters: self.dead,
            // A year, whatever is set: who could shorten it could hide what they did.
            .acts: .seconds(365 * 86_400),
            // What has an end of its own goes as soon as that has come.
            .recipients: .zero, .sessions: .zero, .templates: .zero,
        ]
    }
}
