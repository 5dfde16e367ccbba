/// What a backup has of sends that were under way when it was made: restored, it may reach their devices once more.
package struct UnfinishedSends: Sendable, Equatable {
    /// Sends that are neither final nor being stopped, and whose time is not over; a scheduled one counts once its time has come.
    package var sends = 0
    /// The devices of their open batches, and of lists what is in no batch yet.
    package var devices = 0
    /// Those of the sends that have yet to look up devices, whose number nobody knows before.
    package var lookingUp = 0
    /// Scheduled sends whose time has not come: nothing of them has gone out.
    package var scheduled = 0

    package init() {}
}
