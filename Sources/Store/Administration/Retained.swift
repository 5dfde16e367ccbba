/// Data with a retention time.
package enum Retained: Sendable, CaseIterable {
    /// Single devices in the lists of final jobs, from when they were recorded; the job's counts stay.
    case devices
    /// Final jobs from their end, with all that belongs to them and their idempotency keys.
    ///
    /// Not as long as a key is younger than 24 hours, or a dead letter of theirs is kept.
    case jobs
    /// Uploaded contents and rich notifications, from when they were made.
    ///
    /// Not a content that a notification still names, nor an app's default picture.
    case contents
    /// Registrations that are not live, from their end: that they were there is forgotten.
    case registrations
    /// Dead letters, from when they were stored.
    case deadLetters
    /// The lists of sends, with their handles: as soon as nothing of the job will be sent again, whatever the age.
    ///
    /// That is from its end, or where a dead letter of it is kept from the end of its time.
    case recipients
    /// Templates that no device has any more, whatever the age.
    case templates
    /// Sessions, as soon as they have ended, whatever the age.
    case sessions
    /// What operators have done, from when it was begun.
    case acts
}
