import PushModel

/// The table `rate_limit`: of a service where one of its credentials has a limit, each has a row.
enum RateLimitTable {
    /// Makes the limits what a declaration says.
    ///
    /// - Parameters:
    ///   - spec: The declaration.
    ///   - app: The app's number.
    ///   - now: The store's clock.
    /// - Returns: The statements; a limit that was there goes on from where it is.
    static func limits(of spec: AppSpec, app: SQLStatement, now: Int64) -> [SQLStatement] {
        PushService.allCases.flatMap { pns -> [SQLStatement] in
            let names = spec.credentials.names(of: pns)
            let rates = names.map { (name: $0, rate: spec.credentials[pns, $0]?.devicesPerSecond) }
            guard rates.contains(where: { $0.rate != nil }) else {
                return ["DELETE FROM rate_limit WHERE app = \(app) AND pns = \(pns.number)"]
            }
            let numbers = SQLStatement(joining: names.map { self.number(of: $0, pns, app: app) }, with: ", ")
            var statements = names.filter { $0 != .default }.map { self.mention($0, pns, app: app) }
            statements.append(
                "DELETE FROM rate_limit WHERE app = \(app) AND pns = \(pns.number) AND credential NOT IN (\(numbers))"
            )
            return statements + rates.map { self.put($0.rate ?? 0, of: $0.name, pns, app: app, now: now) }
        }
    }

    private static func put(
        _ rate: Int,
        of credential: CredentialName,
        _ pns: PushService,
        app: SQLStatement,
        now: Int64
    ) -> SQLStatement {
        """
        INSERT INTO rate_limit(app, pns, credential, rate, tat) VALUES (
            \(app), \(pns.number), \(self.number(of: credential, pns, app: app)), \(rate), \(now * 1_000_000))
        ON CONFLICT (app, pns, credential) DO UPDATE
        SET tat = CASE WHEN rate_limit.rate = 0 THEN excluded.tat ELSE rate_limit.tat END, rate = excluded.rate
        """
    }

    private static func mention(_ credential: CredentialName, _ pns: PushService, app: SQLStatement) -> SQLStatement {
        """
        INSERT INTO credential(app, pns, name) VALUES (\(app), \(pns.number), \(credential.name))
        ON CONFLICT (app, pns, name) DO NOTHING
        """
    }

    /// The number of a credential; 0 = the default one.
    private static func number(of credential: CredentialName, _ pns: PushService, app: SQLStatement) -> SQLStatement {
        guard credential != .default else { return "0" }
        return """
            (SELECT number FROM credential WHERE app = \(app) AND pns = \(pns.number) AND name = \(credential.name))
            """
    }
}
