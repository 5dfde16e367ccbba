package import ArgumentParser
import Foundation
import Installation
import PushModel
import PushlineClient
import Settings

/// `pushline`: declares apps, accounts and keys on the server's host, and works with a server through its API.
package struct PushlineCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "pushline",
        abstract: "Declare apps, send notifications, and follow their outcomes.",
        discussion: """
            apps, accounts add, keys create, hub rules, console, store and doctor (but for --url) work on the store of this host and read \
            the server's configuration. \
            All others talk to a server: PUSHLINE_URL says where it is, PUSHLINE_KEY is the key to use.

            Exit codes: 0 done; 1 it did not work, or something is wrong; 64 the command line is not right, and nothing was done. \
            --watch ends with 0 when the job is completed, whatever became of its devices, else with 1.

            --generate-completion-script bash (or zsh, fish) prints completions for that shell; deploy/manual DIR installs them \
            and man pages.
            """,
        version: pushlineVersion,
        subcommands: [
            AppsCommand.self, AccountsCommand.self, UsersCommand.self, KeysCommand.self, HubCommand.self,
            ChannelsCommand.self, SendCommand.self, JobsCommand.self, JobCommand.self, NotificationsCommand.self,
            RegistrationsCommand.self, DeadCommand.self, QueuesCommand.self, TopCommand.self, AuditCommand.self,
            ConsoleCommand.self, StoreCommand.self,
            DoctorCommand.self,
        ]
    )

    package init() {}

    /// Runs the command that the arguments name, and ends the process with its exit code.
    package static func start() async -> Never {
        CrashReports.leaveOutMemory()
        do {
            var command = try Self.parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            Self.exit()
        } catch let error as CommandFailure {
            Console.note("pushline: \(error.message)")
            Self.exit(withError: error.exitCode)
        } catch let error as PushlineError {
            Console.note("pushline: \(Rejection(error: error).text)")
            Self.exit(withError: ExitCode.failure)
        } catch let error as any FailureInOneLine {
            Console.note("pushline: \(Console.safe(error.description))")
            Self.exit(withError: ExitCode.failure)
        } catch {
            // Help, version, wrong arguments: ArgumentParser has the words and the code.
            Self.exit(withError: error)
        }
    }
}

/// An error with a one-line description for the user.
protocol FailureInOneLine: Error, CustomStringConvertible {}

extension SettingFault: FailureInOneLine {}
extension ConfigurationError: FailureInOneLine {}

/// A failure that the command itself found.
struct CommandFailure: Error, Equatable, CustomStringConvertible {
    let message: String
    let exitCode: ExitCode

    /// It did not work.
    static func failed(_ message: String) -> CommandFailure { CommandFailure(message: message, exitCode: .failure) }

    /// The command line or an environment variable is invalid: nothing was done.
    static func usage(_ message: String) -> CommandFailure {
        CommandFailure(message: message, exitCode: .validationFailure)
    }

    var description: String { self.message }
}

/// The remedies for a server's refusal.
enum Advice {
    /// The text after the error's own; empty if that is enough.
    static func after(_ error: PushlineError) -> String {
        if error.isForeign { return "; check --url or PUSHLINE_URL" }
        return switch error.code {
        case .untrusted: "; name your authority's certificate with --ca-file or PUSHLINE_CA_FILE, or correct --url"
        case .timeout: "; allow more time with --timeout, or check what the server is busy with"
        case .unreachable: "; is the server running, and is its address right (--url or PUSHLINE_URL)?"
        case .unauthorized: "; check --key or PUSHLINE_KEY, and --app"
        case .forbidden: "; use a key with another role (pushline keys create NAME --role operator)"
        case .tooManyRequests, .unavailable:
            // Without it the server has said what to do: the request may have been done.
            error.retryAfter.map { "; try again in \($0) s" } ?? ""
        default: ""
        }
    }
}
