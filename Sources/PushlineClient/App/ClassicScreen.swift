public import Foundation

/// The rules of the classic app's screen: what can be pressed when, and the list of results.
///
/// It is a value without any user interface. A view shows it and changes it; the app makes the calls.
public struct ClassicScreen: Sendable, Equatable {
    /// How far the sign-in is.
    public enum Phase: Sendable, Equatable {
        /// Nobody is signed in.
        case signedOut
        /// The device is being registered.
        case signingIn
        /// The device is registered for that user.
        case signedIn(user: String)
    }

    /// A sign-in that has begun.
    public struct SignIn: Sendable, Equatable {
        /// The user's name.
        public let name: String
        /// The user's password.
        public let password: String
        /// The device to register.
        public let device: Device
        fileprivate let attempt: Int
    }

    /// A line of the list of results.
    public struct Line: Sendable, Equatable, Identifiable {
        /// Its place in the list.
        public let id: Int
        /// The text.
        public let text: String
        /// Whether it tells of a failure.
        public let isFailure: Bool
    }

    /// The user's name; another one needs a new sign-in.
    public var name = "" { didSet { if self.name != oldValue { self.phase = .signedOut } } }
    /// The user's password; another one needs a new sign-in.
    public var password = "" { didSet { if self.password != oldValue { self.phase = .signedOut } } }
    /// The device's token; nil until the system gives it.
    public var token: Data?
    /// The recipient's name.
    public var recipient = ""
    /// The text to send.
    public var message = ""
    /// The switches that are on.
    public var switches: Set<PushNotification.Service> = [.apns]
    /// How far the sign-in is.
    public private(set) var phase = Phase.signedOut
    /// Whether calls of a send are being made.
    public private(set) var isSending = false
    /// The results, the oldest first.
    public private(set) var lines: [Line] = []
    private var attempts = 0

    /// The services that have a switch, in their order.
    public static let services: [PushNotification.Service] = [.wns, .fcm, .apns]

    /// A screen on which nobody is signed in.
    public init() {}

    /// Sign-in is offered once the device's token is known.
    public var canSignIn: Bool {
        self.token != nil && self.phase == .signedOut && !self.name.isEmpty && !self.password.isEmpty
    }

    /// Sending is offered to who is signed in.
    public var canSend: Bool {
        guard case .signedIn = self.phase else { return false }
        return !self.isSending && !self.recipient.isEmpty && !self.switches.isEmpty
    }

    /// The services to send through, in the order of their switches.
    public var chosen: [PushNotification.Service] { Self.services.filter(self.switches.contains) }
}

// MARK: What happens

extension ClassicScreen {
    /// Begins a sign-in.
    ///
    /// - Returns: What to register; nil while no sign-in is offered.
    public mutating func beginSignIn() -> SignIn? {
        guard self.canSignIn, let token else { return nil }
        self.phase = .signingIn
        self.attempts += 1
        let device = Device(apnsToken: token)
        return SignIn(name: self.name, password: self.password, device: device, attempt: self.attempts)
    }

    /// Ends a sign-in, unless name or password were changed meanwhile.
    ///
    /// - Parameters:
    ///   - signIn: What ``beginSignIn()`` returned.
    ///   - error: nil = the device is registered.
    public mutating func end(_ signIn: SignIn, _ error: (any Error)?) {
        guard self.phase == .signingIn, self.attempts == signIn.attempt else { return }
        if let error {
            self.phase = .signedOut
            self.append("Sign-in failed: \(error)", isFailure: true)
        } else {
            self.phase = .signedIn(user: signIn.name)
            self.append("Signed in as \(signIn.name)")
        }
    }

    /// Begins a send.
    ///
    /// - Returns: False while no send is offered.
    public mutating func beginSend() -> Bool {
        guard self.canSend else { return false }
        self.isSending = true
        return true
    }

    /// Appends what came of one call.
    public mutating func append(_ result: ClassicResult) {
        let service = result.service.rawValue.uppercased()
        if let error = result.error {
            // The status is in its message.
            self.append("\(service): \(error.message)", isFailure: true)
        } else {
            self.append("\(service): sent")
        }
    }

    /// Ends a send: all calls are made.
    public mutating func endSend() { self.isSending = false }

    private mutating func append(_ text: String, isFailure: Bool = false) {
        self.lines.append(Line(id: self.lines.count, text: text, isFailure: isFailure))
    }
}
