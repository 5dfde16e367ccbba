import Foundation
import Observation
import PushlineClient
import UIKit

/// Makes the calls that the screen asks for.
///
/// What may be pressed when, and what a result says, is decided by `ClassicScreen` in the library, where it is tested.
@MainActor @Observable
final class ClassicModel {
    /// The content of a notification that the user opened.
    struct Opened: Identifiable {
        let id = UUID()
        let content: RichContent
    }

    var screen = ClassicScreen()
    var opened: Opened?
    private(set) var notes: [String] = []
    @ObservationIgnored private var client: PushlineClient?
    @ObservationIgnored private let registration = DeviceRegistration(storage: KeychainRegistrationStorage())

    /// `PushlineURL` in Info.plist.
    private var server: URL? {
        (Bundle.main.object(forInfoDictionaryKey: "PushlineURL") as? String).flatMap(URL.init(string:))
    }

    func note(_ text: String) { self.notes.append(text) }

    func signIn() async {
        guard let server else { return self.note("PushlineURL is missing in Info.plist: see the README") }
        guard let signIn = self.screen.beginSignIn() else { return }
        let client = PushlineClient(
            url: server,
            credentials: .account(name: signIn.name, password: signIn.password)
        )
        do {
            try await self.registration.register(signIn.device, user: signIn.name, with: client)
            self.screen.end(signIn, nil)
            if self.screen.phase == .signedIn(user: signIn.name) { self.client = client }
        } catch {
            self.screen.end(signIn, error)
        }
    }

    func send() async {
        guard let client, self.screen.beginSend() else { return }
        defer { self.screen.endSend() }
        let screen = self.screen
        do {
            try await client.sendMessage(screen.message, to: screen.recipient, through: screen.chosen) { result in
                self.screen.append(result)
            }
        } catch {
            self.note("The send was cancelled.")
        }
    }

    /// The system may give another token at any start, and while the app runs.
    func tokenChanged(_ token: Data) async {
        self.screen.token = token
        guard let client, case .signedIn(let user) = self.screen.phase else { return }
        do {
            try await self.registration.register(Device(apnsToken: token), user: user, with: client)
        } catch {
            self.note("The new device token is not registered: \(error.localizedDescription)")
        }
    }

    /// Fetches what a silent push tells of, and only then shows a notification.
    func receive(_ push: ReceivedPush) async -> UIBackgroundFetchResult {
        switch push {
        case .rich(_, let message, _):
            return await self.show(push, text: message)
        case .secure:
            return await self.show(push, text: String(localized: "You have a private message."))
        case .text, .other:
            return .noData
        }
    }

    private func show(_ push: ReceivedPush, text: String) async -> UIBackgroundFetchResult {
        do {
            let content = try await self.fetch(push)
            try await LocalNotification.show(push, text: text, content: content)
            return content == nil ? .noData : .newData
        } catch {
            self.note("A notification cannot be fetched: \(error.localizedDescription)")
            return .failed
        }
    }

    /// Shows the content of a notification that the user tapped.
    func open(_ push: ReceivedPush) async {
        do {
            if let content = try await self.fetch(push) {
                self.opened = Opened(content: content)
            } else if push.number != nil {
                self.note("Sign in, then open the notification again.")
            }
        } catch {
            self.note("A notification cannot be opened: \(error.localizedDescription)")
        }
    }

    /// nil where there is nothing to fetch, or nobody is signed in.
    private func fetch(_ push: ReceivedPush) async throws -> RichContent? {
        guard let client, let number = push.number else { return nil }
        return try await client.fetchRich(number)
    }
}
