package import PushModel
import Synchronization

/// The notifications that templates make of the properties of one send: each template is read and filled in once, for all of its pages.
package final class TemplateNotifications: Sendable {
    private struct Key: Hashable {
        let template: DeviceTemplate.Content
        let pns: PushService
    }

    /// The app's declaration that they are made with.
    package let app: AppSpec
    private let values: TemplateProperties
    private let headers: [NativePayload.Header]
    private let made = Mutex<[Key: Result<NativePayload, InvalidValue>]>([:])
    /// How many are kept: each device may have a template of its own.
    private static let mostKept = 100

    package init(_ properties: Content.Properties, of app: AppSpec) {
        self.app = app
        self.values = TemplateProperties(properties.values)
        self.headers = properties.headers
    }

    /// The notification of a template.
    ///
    /// - Throws: ``InvalidValue`` for what the service would refuse.
    package func payload(_ template: DeviceTemplate.Content, for pns: PushService) throws(InvalidValue) -> NativePayload
    {
        let key = Key(template: template, pns: pns)
        if let known = self.made.withLock({ $0[key] }) { return try known.get() }
        let result: Result<NativePayload, InvalidValue>
        do throws(InvalidValue) {
            let values = self.values
            result = .success(
                try TemplatePayload.fill(template, with: values, headers: self.headers, for: pns, of: self.app)
            )
        } catch { result = .failure(error) }
        self.made.withLock { made in
            if made.count >= Self.mostKept { made.removeAll() }
            made[key] = result
        }
        return try result.get()
    }
}
