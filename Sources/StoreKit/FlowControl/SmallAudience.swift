package import PushModel
import Store

/// Where the devices of a send are found that may be a small one.
package enum SmallAudience: Equatable, Sendable {
    case tag(Tag)
    /// The list beside its job.
    case list
    /// It goes page by page.
    case large

    package init(_ request: SendRequest) {
        if let count = request.audience.listed {
            self = count > SmallSend.maximumDevices ? .large : .list
        } else if request.content.kind == .native, let only = request.audience.onlyTag {
            self = .tag(only)
        } else {
            // Devices with templates differ in what they get.
            self = .large
        }
    }
}
