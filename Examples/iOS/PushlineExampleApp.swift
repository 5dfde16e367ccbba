import SwiftUI

@main
struct PushlineExampleApp: App {
    @UIApplicationDelegateAdaptor private var delegate: AppDelegate

    var body: some Scene {
        WindowGroup { ClassicView(model: self.delegate.model) }
    }
}
