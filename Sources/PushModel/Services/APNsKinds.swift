extension NativePayload.Kind {
    /// Shown to the user.
    package static let alert = ofAPNs(1, "alert")
    /// Wakes the app.
    package static let background = ofAPNs(2, "background")
    /// An incoming call.
    package static let voip = ofAPNs(3, "voip", maximumPayload: 5120)
    /// The data of a watch's complication.
    package static let complication = ofAPNs(4, "complication")
    /// A change of files.
    package static let fileprovider = ofAPNs(5, "fileprovider")
    /// A command for a managed device.
    package static let mdm = ofAPNs(6, "mdm")
    /// A question where the device is.
    package static let location = ofAPNs(7, "location")
    /// An update of a Live Activity.
    package static let liveactivity = ofAPNs(8, "liveactivity")
    /// A call of Push to Talk.
    package static let pushtotalk = ofAPNs(9, "pushtotalk")
    /// A new state of a control.
    package static let controls = ofAPNs(10, "controls")
    /// A new timeline of widgets.
    package static let widgets = ofAPNs(11, "widgets")

    /// An update of the Live Activities that listen to a broadcast channel: of the push type liveactivity, by a request of its own.
    ///
    /// The limit is Apple's ("Sending broadcast push notification requests to APNs").
    package static let broadcast = ofAPNs(12, "broadcast", maximumPayload: 5120)

    /// The push types of APNs, which a sender's own form may have.
    package static let allOfAPNs = [
        alert, background, voip, complication, fileprovider, mdm, location, liveactivity, pushtotalk, controls, widgets,
    ]

    private static func ofAPNs(
        _ number: UInt8,
        _ name: String,
        maximumPayload: Int = 4096
    ) -> NativePayload.Kind {
        NativePayload.Kind(.apns, number, name, maximumPayload: maximumPayload)
    }
}
