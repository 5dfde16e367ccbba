import ArgumentParser
import PushModel

extension PushService {
    /// What a shell offers where a push service is to be named.
    static var completion: CompletionKind { .list(PushService.allCases.flatMap(\.names)) }
}
