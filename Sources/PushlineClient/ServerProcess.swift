public import Foundation

/// A process of the installation, as it reports itself: whoever has the broker's password can forge that.
public struct ServerProcess: Sendable, Equatable, Codable, Identifiable {
    /// A breaker of the app that is open in the process: nothing is sent there but probes.
    public struct Breaker: Sendable, Equatable, Codable {
        /// A push service, or `hub`.
        public let service: String
        /// Which of the app's credentials; nil = the default one.
        public let credential: String?
        /// Why.
        public let reason: String
    }

    /// A credential of the app that was refused when the process used it last.
    public struct Refusal: Sendable, Equatable, Codable {
        /// A push service, or `hub`.
        public let service: String
        /// Which of the app's credentials; nil = the default one.
        public let credential: String?
        /// The service's word, such as `InvalidProviderToken`.
        public let reason: String
        /// When it was refused first since it was taken last.
        public let since: Date
    }

    /// A credential that ends within 30 days, or has ended.
    public struct Ending: Sendable, Equatable, Codable {
        /// The setting that names it, such as `wns.client_secret_file`.
        public let setting: String
        /// When.
        public let end: Date
    }

    /// Of this run of the process.
    public let id: String
    /// Such as `api` or `delivery-worker`.
    public let role: String
    /// `running`; `gone` = silent for 15 seconds; `unknown` = so is everybody, or was until a moment ago.
    public let state: String
    /// Seconds since it was heard.
    public let silentSeconds: Int
    /// Its host's name.
    public let host: String
    /// Its number on that host.
    public let pid: Int
    /// Its version.
    public let version: String
    /// Where it answers `/healthz`.
    public let port: Int?
    /// Bytes in memory.
    public let memory: Int?
    /// Messages of the app's that it works on; nil = it takes none, or that is not known.
    public let inHand: Int?
    /// The app's breakers that are open in it.
    public let breakers: [Breaker]
    /// The app's credentials that are refused.
    public let refusals: [Refusal]
    /// What ends soon, of the app's and of the process's own.
    public let credentials: [Ending]
}
