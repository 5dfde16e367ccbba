package import PushModel

/// The rules of the apps' hubs.
///
/// Their keys are kept as they are, because a token can be checked only with the key that signed it.
package protocol HubRuleStore: Sendable {
    /// Adds a rule.
    ///
    /// - Throws: ``StoreError``, with ``StoreError/Code/conflict`` where the app has a rule of that name.
    func add(_ rule: HubRule) async throws

    /// Replaces one of a rule's keys.
    ///
    /// - Returns: false if there is no such rule.
    func replace(_ key: HubRule.Key, with text: String, ofRule name: String, app: AppID) async throws -> Bool

    /// Deletes a rule: its keys work no more.
    ///
    /// - Returns: false if there is no such rule.
    func deleteHubRule(named name: String, app: AppID) async throws -> Bool

    /// All rules of the app, by name.
    func hubRules(app: AppID) async throws -> [HubRule]
}
