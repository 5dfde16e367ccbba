package import PushModel

/// The rules of the apps' hubs.
///
/// Their keys are kept as they are, because a token can be checked only with the key that signed it.
package protocol HubRuleStore: Sendable {
    /// All rules of the app, by name.
    func hubRules(app: AppID) async throws -> [HubRule]
}
