package import Intake
import Settings
package import WebServing

/// What the hubs are served with.
package struct HubConfiguration: Sendable {
    /// The limits of the server.
    package var serving: ServingLimits
    /// How jobs are accepted.
    package var intake: IntakeLimits
    /// How long a request waits for its commit to begin: official clients give up after 5 s.
    package var commitWait = Duration.seconds(4)
    /// For how long a change of an app or a rule may go unseen.
    package var directoryLifetime = Duration.seconds(2)

    /// How long a change of a registration is waited for.
    var registerWait: Duration { self.serving.settings.classicWait }

    package init(_ serving: ServingLimits, intake: IntakeLimits) {
        self.serving = serving
        self.intake = intake
    }
}
