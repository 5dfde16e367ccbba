import Store
import StoreSQL

/// Of these the statements are every driver's.
extension SQLiteStore: AccountStore, ActStore, AdministrationStore, AppStore, DeadLetterStore, HubCallStore,
    HubRuleStore,
    PauseStore, SessionStore, SuspectStore
{}
