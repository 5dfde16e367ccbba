import FaultInjection
import StoreKit

extension SchemaStep {
    /// What a test's step does to the tables.
    init(trial: TrialStep) {
        switch trial {
        case .expand:
            self.init(
                .expand,
                "a column and an index of a test",
                sql:
                    "ALTER TABLE job ADD COLUMN trial bigint; CREATE INDEX job_trial ON job(trial) WHERE trial IS NOT NULL"
            )
        case .contract:
            self.init(.contract, "the column of a test goes", sql: "ALTER TABLE job DROP COLUMN trial")
        }
    }
}
