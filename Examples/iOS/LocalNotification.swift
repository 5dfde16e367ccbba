import Foundation
import PushlineClient
import UniformTypeIdentifiers
import UserNotifications

/// The notification that the app shows itself, once it has fetched the content of a rich or secure one.
enum LocalNotification {
    /// Its button "More" opens the app, which shows the content.
    static var category: UNNotificationCategory {
        let more = UNNotificationAction(
            identifier: "more",
            title: String(localized: "More"),
            options: [.foreground]
        )
        return UNNotificationCategory(identifier: "rich", actions: [more], intentIdentifiers: [])
    }

    /// Shows a notification.
    ///
    /// - Parameters:
    ///   - push: What was received; the user's tap brings it again.
    ///   - text: The text to show.
    ///   - content: What was fetched; a picture is shown beside the text, a secure text only inside the app.
    /// - Throws: The system's reason why it cannot be shown.
    static func show(_ push: ReceivedPush, text: String, content: RichContent?) async throws {
        let shown = UNMutableNotificationContent()
        shown.body = text
        shown.sound = .default
        shown.categoryIdentifier = "rich"
        shown.userInfo = push.payload
        if case .file(let data, let mediaType) = content,
            let type = UTType(mimeType: mediaType), type.conforms(to: .image)
        {
            shown.attachments = [try Self.attachment(data, type)]
        }
        let request = UNNotificationRequest(identifier: UUID().uuidString, content: shown, trigger: nil)
        try await UNUserNotificationCenter.current().add(request)
    }

    /// The system moves the file to a place of its own.
    private static func attachment(_ data: Data, _ type: UTType) throws -> UNNotificationAttachment {
        let file = URL.temporaryDirectory.appending(path: UUID().uuidString).appendingPathExtension(for: type)
        try data.write(to: file)
        return try UNNotificationAttachment(identifier: "picture", url: file)
    }
}
