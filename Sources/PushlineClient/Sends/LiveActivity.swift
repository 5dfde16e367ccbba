public import Foundation

/// A start, a change or the end of Live Activities on Apple's devices.
///
/// `contentState` and `attributes` are JSON as the app's `ActivityAttributes` decode it.
public struct LiveActivity: Sendable, Equatable, Encodable {
    /// What happens to the activities.
    public enum Event: String, CaseIterable, Sendable, Encodable {
        /// A new one, by a push-to-start token (iOS 17.2 and later).
        case start
        /// Another state.
        case update
        /// The last state.
        case end
    }

    /// What happens.
    public var event: Event
    /// What is shown; an end may do without.
    public var contentState: JSON?
    /// What the device also tells the user, such as `["title": "Gate 7", "body": "Boarding"]`; a start needs it.
    public var alert: JSON?
    /// From when on what is shown counts as out of date.
    public var staleDate: Date?
    /// When an ended activity goes from the screen: a past moment = at once, nil = as the device likes, within four hours.
    public var dismissalDate: Date?
    /// Which of the app's activities is shown first: the one with the greatest.
    public var relevanceScore: Double?
    /// The time of this state: a device ignores what is older than what it has; nil = when it is accepted or, scheduled, goes out.
    public var timestamp: Date?
    /// For a start: the name of the app's `ActivityAttributes` type.
    public var attributesType: String?
    /// For a start: what never changes in the activity.
    public var attributes: JSON?
    /// For a start: whether the app is to get the activity's token (iOS 18 and later).
    public var inputPushToken: Bool?
    /// For a start: the channel that the activity listens to (iOS 18 and later).
    public var inputPushChannel: String?

    /// Creates one with what every event may have; the other members can be set afterwards.
    public init(_ event: Event, contentState: JSON? = nil, alert: JSON? = nil) {
        self.event = event
        self.contentState = contentState
        self.alert = alert
    }
}
