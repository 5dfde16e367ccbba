public import Foundation

/// Keeps this device registered, and asks the server only if something has changed.
///
/// Make one for the app, and call ``register(_:user:with:)`` at each start, sign-in and change of the token or tags:
///
/// ```swift
/// let registration = DeviceRegistration(storage: FileRegistrationStorage(file: file))
/// let client = PushlineClient(url: url, credentials: .account(name: "ann", password: password))
/// try await registration.register(Device(apnsToken: token, tags: ["news"]), user: "ann", with: client)
/// ```
///
/// The id of the registration is kept from the moment at which the server gives it, so a lost answer costs no second id.
/// Concurrent calls run one after the other, in the order in which they were made; each request ends by the client's
/// ``PushlineClient/deadline``, and a call makes at most four.
public actor DeviceRegistration {
    /// What a call had to do.
    public enum Outcome: Sendable, Equatable {
        /// The server knows all this already: there was no request.
        case unchanged
        /// The device is registered.
        case registered
        /// The device is registered under a new id, because the old one was deleted or is another user's.
        case startedOver
    }

    private let storage: any RegistrationStorage
    private let renewal: Duration
    private let now: @Sendable () -> Date
    private var isBusy = false
    private var turns = 0
    private var waiting: [(turn: Int, continuation: CheckedContinuation<Void, any Error>)] = []

    /// Creates the registration of this device.
    ///
    /// - Parameters:
    ///   - storage: Where its id is kept.
    ///   - renewal: After that time an unchanged device is registered again: a server may end registrations that are
    ///     not renewed (`registration_lifetime_days` of its app).
    public init(storage: any RegistrationStorage, renewal: Duration = .seconds(7 * 86_400)) {
        self.init(storage: storage, renewal: renewal) { Date() }
    }

    init(storage: any RegistrationStorage, renewal: Duration, now: @escaping @Sendable () -> Date) {
        self.storage = storage
        self.renewal = renewal
        self.now = now
    }

    /// The registration's id; nil before the first registration.
    public var id: String? { get throws { try self.state().id } }

    /// Registers the device, unless the server knows it with the same user and tags.
    ///
    /// If its id was deleted or belongs to another user, it starts over with a new one, once.
    ///
    /// - Parameters:
    ///   - device: The device. The order of its tags has no meaning.
    ///   - user: The user whose credentials the client has.
    ///   - client: The server and its credentials.
    /// - Returns: What had to be done.
    /// - Throws: ``PushlineError``, `CancellationError`. The next call then asks the server.
    @discardableResult
    public func register(_ device: Device, user: String, with client: PushlineClient) async throws -> Outcome {
        try await self.takeTurn()
        defer { self.endTurn() }
        let wanted = RegistrationState.Registered(device, user: user, client: client, at: self.now())
        let old = try self.state()
        if let done = old.registered, done.stands(for: wanted, renewedEvery: self.renewal) { return .unchanged }
        // From here until the answer nobody knows what the server has.
        if old.registered != nil { try self.storage.write(RegistrationState(id: old.id).data()) }
        let storage = self.storage
        let id = try await client.register(device, storedID: old.id) { id in
            try storage.write(RegistrationState(id: id).data())
        }
        try self.storage.write(RegistrationState(id: id, registered: wanted).data())
        return old.id == nil || old.id == id ? .registered : .startedOver
    }

    /// Deletes the registration, so that this device gets no more of the user's notifications.
    ///
    /// - Parameter client: The server and the user's credentials.
    /// - Throws: ``PushlineError``, `CancellationError`. The id is then kept, and the call may be repeated.
    public func unregister(with client: PushlineClient) async throws {
        try await self.takeTurn()
        defer { self.endTurn() }
        let old = try self.state()
        guard let id = old.id else { return }
        if old.registered != nil { try self.storage.write(RegistrationState(id: id).data()) }
        do {
            try await client.unregister(id)
        } catch let error as PushlineError where error.code == .gone || error.code == .notFound {
            // There is nothing left to delete.
        }
        try self.storage.write(RegistrationState().data())
    }

    /// What is kept; of a lost or damaged state nothing, and the server finds the id again by the device's handle.
    private func state() throws -> RegistrationState {
        try self.storage.read().flatMap(RegistrationState.init(data:)) ?? RegistrationState()
    }
}

// MARK: One call at a time

extension DeviceRegistration {
    private func takeTurn() async throws {
        try Task.checkCancellation()
        guard self.isBusy else {
            self.isBusy = true
            return
        }
        self.turns += 1
        let turn = self.turns
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { self.waiting.append((turn, $0)) }
        } onCancel: {
            // It cannot come before the line above: this actor is busy until the call waits.
            Task { await self.giveUp(turn) }
        }
    }

    private func giveUp(_ turn: Int) {
        guard let index = self.waiting.firstIndex(where: { $0.turn == turn }) else { return }
        self.waiting.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    private func endTurn() {
        if self.waiting.isEmpty { self.isBusy = false } else { self.waiting.removeFirst().continuation.resume() }
    }
}

extension Device {
    /// A device of Apple's, with the token that the system handed to the app.
    ///
    /// - Parameters:
    ///   - token: The bytes from `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    ///   - credential: With which of the server's credentials for the app it is reached, as ``credential``.
    ///   - tags: The device's tags, besides that of its user.
    public init(apnsToken token: Data, credential: String? = nil, tags: [String] = []) {
        let digits = Array("0123456789ABCDEF")
        let handle = String(token.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
        self.init(service: .apns, handle: handle, credential: credential, tags: tags)
    }
}
