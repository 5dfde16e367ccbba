import PushlineClient
import UIKit
import UserNotifications

/// Hands what the system says to the model.
final class AppDelegate: NSObject, UIApplicationDelegate {
    let model = ClassicModel()

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        let center = UNUserNotificationCenter.current()
        center.delegate = self
        center.setNotificationCategories([LocalNotification.category])
        Task {
            do {
                _ = try await center.requestAuthorization(options: [.alert, .badge, .sound])
            } catch {
                self.model.note("Notifications cannot be shown: \(error.localizedDescription)")
            }
        }
        // The token comes without that permission, too: silent pushes need none.
        application.registerForRemoteNotifications()
        return true
    }

    func application(
        _ application: UIApplication,
        didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {
        Task { await self.model.tokenChanged(deviceToken) }
    }

    func application(_ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error) {
        self.model.note("There is no device token: \(error.localizedDescription)")
    }

    func application(
        _ application: UIApplication,
        didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        await self.model.receive(ReceivedPush(payload: userInfo))
    }
}

/// The system calls these on the main thread, and wants the completion handlers called there.
extension AppDelegate: UNUserNotificationCenterDelegate {
    nonisolated func userNotificationCenter(
        _ center: UNUserNotificationCenter,
        willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
    ) {
        completionHandler([.banner, .list, .sound])
    }

    nonisolated func userNotificationCenter(
        _ center: UNUserNotificationCenter,
        didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void
    ) {
        let push = ReceivedPush(payload: response.notification.request.content.userInfo)
        Task { @MainActor in await self.model.open(push) }
        completionHandler()
    }
}
