import Logging
import NIOCore
import PushModel

/// What a sender is made from: the part of an app's declaration that concerns one push service.
enum SenderRecipe: Sendable, Equatable {
    case apns(AppSpec.APNs)
    case fcm(AppSpec.FCM)
    case wns(AppSpec.WNS)

    init(pns: PNS, spec: AppSpec) throws(SenderError) {
        let recipe: SenderRecipe? =
            switch pns {
            case .apns: spec.apns.map(SenderRecipe.apns)
            case .fcm: spec.fcm.map(SenderRecipe.fcm)
            case .wns: spec.wns.map(SenderRecipe.wns)
            case .mpns: throw SenderError(.retired, "mpns was switched off in 2018 and takes nothing any more")
            }
        guard let recipe else {
            throw SenderError(.notConfigured, "the app declares no \(pns.rawValue): add it to its file and apply that")
        }
        self = recipe
    }

    /// Reads the files and makes the sender.
    func make(
        settings: SenderSettings,
        eventLoopGroup: any EventLoopGroup,
        logger: Logger
    ) throws(SenderError) -> (sender: any PushSender, files: [CredentialFile]) {
        throw SenderError(.notConfigured, "no sender is built in yet")
    }
}
