import Authentication
import Crypto
import HTTPTypes
import JSONWebTokens
import Logging
import NIOConcurrencyHelpers
import PushModel
import Store
import WebServing

/// Lets in the users whom the tokens of an app's own issuer name (decision 29).
///
/// They need no account, and never have another role than user.
final class TokenSignIn: Sendable {
    /// An app's verifier, and the tokens that it found good in the last minute: most come again and again.
    private struct Entry: Sendable {
        let verifier: TokenVerifier
        let verified = ExpiringCache<SHA256.Digest, VerifiedToken>(lifetime: .seconds(60), capacity: 10_000)
    }

    /// Of declared apps only.
    private let entries = NIOLockedValueBox<[AppID: Entry]>([:])
    private let directory: CallerDirectory
    private let failures: SignInFailures
    private let waiting: WaitLimit
    private let logger: Logger

    /// - Parameters:
    ///   - directory: Accounts and keys: they and the tokens' users share one space of names.
    ///   - failures: Counts tokens that let nobody in.
    ///   - mostWaiting: The most tokens of all apps that wait for keys.
    ///   - logger: For what happens to the issuers' keys.
    init(directory: CallerDirectory, failures: SignInFailures, mostWaiting: Int, logger: Logger) {
        self.directory = directory
        self.failures = failures
        self.waiting = WaitLimit(mostWaiting)
        self.logger = logger
    }

    /// Finds out whom a token names.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - app: The app that the request is for.
    ///   - settings: The app's declaration of tokens.
    ///   - users: How it compares names.
    /// - Returns: The user.
    /// - Throws: ``Problem``: 401 for a token that is not to be believed, 403 for one that names nobody who may sign in, 503 while
    ///   the issuer's keys cannot be read; `StoreError`.
    func caller(
        _ token: String,
        app: AppID,
        settings: TokenSettings,
        users: AppSpec.Users
    ) async throws -> Caller {
        let verified: VerifiedToken
        do throws(TokenRefusal) {
            verified = try await self.verify(token, app: app, settings: settings)
        } catch {
            switch error {
            case .invalid(let reason):
                self.failures.count(.token, app: app)
                throw Authenticator.unauthorized(reason, error: "invalid_token")
            case .noKeys:
                throw Problem.later(.serviceUnavailable, "the keys of the app's tokens cannot be read now", seconds: 5)
            case .busy:
                throw Problem.later(
                    .serviceUnavailable,
                    "too many tokens wait for the keys of their issuer",
                    seconds: 1
                )
            }
        }
        guard let name = verified.user else {
            throw self.forbidden(
                "the token's claim \(settings.userClaim), which names the user, is missing or is not a string",
                app
            )
        }
        let user: UserName
        do throws(InvalidValue) { user = try UserName(name, users) } catch {
            throw self.forbidden("the token's claim \(settings.userClaim) is not a user's name: \(error.reason)", app)
        }
        // What a key sends by the classic route is for the devices with `from:` its name, whether it is revoked or not.
        guard try await !self.directory.hasKey(named: user, app: app, users: users) else {
            throw self.forbidden("the token names a user, but the app has a key of that name", app)
        }
        if let account = try await self.directory.account(user, app: app)?.account {
            guard settings.sameUsers else {
                throw self.forbidden(
                    "the app has an account with the name of the token's user: sign in with the account's password",
                    app
                )
            }
            guard !account.isDisabled else { throw self.forbidden("the account of the token's user is disabled", app) }
        }
        return Caller(app: app, identity: .account(user), role: .user)
    }

    private func forbidden(_ reason: String, _ app: AppID) -> Problem {
        self.failures.count(.token, app: app)
        return .forbidden(reason)
    }

    private func verify(
        _ token: String,
        app: AppID,
        settings: TokenSettings
    ) async throws(TokenRefusal) -> VerifiedToken {
        let entry = self.entry(of: app, settings: settings)
        // In one piece, as in `APIKeySecret`.
        var token = token
        let digest = token.withUTF8 { text in unsafe SHA256.hash(data: UnsafeRawBufferPointer(text)) }
        if let known = entry.verified[digest], .now < known.end { return known }
        let verified = try await entry.verifier.verify(token)
        entry.verified.store(verified, for: digest)
        return verified
    }

    private func entry(of app: AppID, settings: TokenSettings) -> Entry {
        self.entries.withLockedValue { entries in
            if let known = entries[app], known.verifier.settings == settings { return known }
            var logger = self.logger
            logger[metadataKey: "app"] = "\(app)"
            // Another declaration: what the one before let in, it may not.
            let entry = Entry(verifier: TokenVerifier(settings, waiting: self.waiting, logger: logger))
            entries[app] = entry
            return entry
        }
    }
}
