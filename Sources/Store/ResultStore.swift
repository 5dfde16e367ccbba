/// Everything that the store keeps: the truth of which messages are only hints (rule 1).
///
/// Every method that changes something returns after the change is durable. Writes that come together are committed together
/// (rule 8). Methods throw ``StoreError``.
package typealias ResultStore = AccountStore & ActStore & AdministrationStore & AppStore & ContentStore
    & DeadLetterStore
    & FanOutStore & HousekeepingStore & HubCallStore & HubRuleStore & JobStore & OutboxStore & OutcomeSink & PauseStore
    & RegistrationStore & SessionStore & StoreHealth & SuspectStore
