import Foundation
import PushlineClient

/// The Swift that documents show, compiled.
///
/// ``DocumentedSnippetsTests`` holds the two to each other; nothing here is run.
enum DocumentedSnippets {
    static func registers(password: String, deviceToken: Data) async throws {
        // swift-format-ignore
        do {
            let registration = DeviceRegistration(storage: KeychainRegistrationStorage())   // one for the app
            let client = PushlineClient(
                url: URL(string: "https://push.example.com")!,
                credentials: .account(name: "ann", password: password)      // or .token(jwt): your own sign-in's
            )

            // at each start, at each sign-in, and whenever the system gives a token:
            try await registration.register(Device(apnsToken: deviceToken, tags: ["news"]), user: "ann", with: client)
        }
        // swift-format-ignore
        do {
            let registration = DeviceRegistration(storage: KeychainRegistrationStorage())   // one for the app
            let client = PushlineClient(
                url: URL(string: "https://push.example.com")!,
                credentials: .account(name: "ann", password: password)      // or .token(jwt): your own sign-in's
            )
            // with the token that didRegisterForRemoteNotificationsWithDeviceToken has:
            try await registration.register(Device(apnsToken: deviceToken, tags: ["news"]), user: "ann", with: client)
        }
    }

    static func registersByFile(url: URL, file: URL, password: String, token: Data) async throws {
        let registration = DeviceRegistration(storage: FileRegistrationStorage(file: file))
        let client = PushlineClient(url: url, credentials: .account(name: "ann", password: password))
        try await registration.register(Device(apnsToken: token, tags: ["news"]), user: "ann", with: client)
    }

    static func sends(url: URL) async throws -> Job {
        let client = PushlineClient(url: url, credentials: .key("plk_…"))
        let job = try await client.send(PushNotification(to: .user("ann"), title: "Hello", body: "It works"))
        let outcome = try await client.waitForOutcome(of: job.id)
        return outcome
    }

    static func sendsMessages(_ client: PushlineClient) async throws {
        // swift-format-ignore
        do {
            try await client.sendMessage("hello", to: "bob", through: .apns)
            try await client.sendMessage("hello", to: "bob", through: [.apns, .fcm]) { result in
                print(result.service, result.error?.message ?? "sent")      // one call, and one result, for each service
            }
        }
    }

    /// An app's delegate.
    struct Delegate {
        let client: PushlineClient
        let show: @Sendable (_ message: String, _ data: Data?, _ mediaType: String?) -> Void

        // swift-format-ignore
        func application(_ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]) async
            -> UIBackgroundFetchResult
        {
            switch ReceivedPush(payload: userInfo) {
            case .rich(let id, let message, _):
                guard case .file(let data, let mediaType)? = try? await client.fetchRich(id) else { return .failed }
                show(message, data, mediaType)
            case .secure(let id):
                guard case .text(let text, _)? = try? await client.fetchRich(id) else { return .failed }
                show(text)
            case .text, .other: return .noData
            }
            return .newData
        }

        private func show(_ text: String) { self.show(text, nil, nil) }
    }
}

#if !canImport(UIKit)
/// What an app's delegate has of UIKit.
struct UIApplication: Sendable {}

enum UIBackgroundFetchResult { case newData, noData, failed }
#endif

#if !canImport(Security)
/// Stands for the storage in the Keychain, which this system lacks.
struct KeychainRegistrationStorage: RegistrationStorage {
    func read() throws -> Data? { nil }

    func write(_ data: Data) throws {}
}
#endif
