package import PushModel
import Store

/// What an app has already that depends on its declaration.
package struct AppUse: Sendable {
    package let hasRegistrations: Bool
    package let hasJobs: Bool
    package let hasContents: Bool
    /// Its accounts; they are needed only where it has nothing else.
    package let accounts: [UserName]

    package init(hasRegistrations: Bool, hasJobs: Bool, hasContents: Bool, accounts: [UserName]) {
        self.hasRegistrations = hasRegistrations
        self.hasJobs = hasJobs
        self.hasContents = hasContents
        self.accounts = accounts
    }
}

/// What may change of an app's declaration.
package enum AppDeclaration {
    /// Checks another declaration of an app.
    ///
    /// - Parameters:
    ///   - known: The present one.
    ///   - new: The other one.
    ///   - use: What the app has.
    /// - Returns: Whether the change is right only while the app has nothing, and the new names of its accounts.
    /// - Throws: ``StoreError/Code/conflict``.
    package static func check(
        _ known: AppSpec,
        becoming new: AppSpec,
        use: AppUse
    ) throws -> (needsUnused: Bool, names: [(old: UserName, new: UserName)]) {
        let isOtherHub = (known.azureHub == nil) != (new.azureHub == nil)
        // Its devices and sends are at the one that it has.
        guard !isOtherHub || !use.hasRegistrations && !use.hasJobs else {
            throw StoreError(
                .conflict,
                "hub cannot change between embedded and azure once the app has registrations or jobs; declare a new app with the other one"
            )
        }
        guard known.users != new.users else { return (isOtherHub, []) }
        // Rows are stored under keys of the other comparison.
        guard !use.hasRegistrations && !use.hasJobs && !use.hasContents else {
            throw StoreError(
                .conflict,
                """
                users is fixed once an app has registrations, jobs or contents: say users: \(known.users.rawValue), or declare a new app with users: \(new.users.rawValue) \
                and bring the registrations over with pushline registrations export and import
                """
            )
        }
        let names = try use.accounts.map { try UserName($0.name, new.users) }
        guard Set(names).count == names.count else {
            throw StoreError(
                .conflict,
                "users cannot be \(new.users.rawValue): the app has accounts whose names differ only in letter case"
            )
        }
        return (true, zip(use.accounts, names).map { (old: $0, new: $1) })
    }
}
