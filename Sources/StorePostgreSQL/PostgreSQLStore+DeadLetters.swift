import Store
import StoreSQL

extension PostgreSQLStore: DeadLetterStore {}
