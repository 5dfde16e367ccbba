import Foundation
package import Logging
package import PushModel
package import Store

/// The configuration of a process: ports, broker, store and limits, without apps.
///
/// `Config/pushline.yaml` says what each means.
package struct PushlineConfiguration: Sendable, Equatable {
    /// Where the store is.
    package struct Store: Sendable, Equatable {
        package var path: String
        package var backlog: Int
        package var reserve: Int
    }

    /// Where the broker is.
    package struct Broker: Sendable, Equatable, CustomStringConvertible {
        /// The addresses of its nodes.
        ///
        /// They hold a password: never for a log; ``description`` is.
        package var urls: [String]
        package var caFile: String?
        package var certificateFile: String?
        package var keyFile: String?
        package var heartbeat: Duration
        /// Where its management API is, for `pushline doctor`; may hold a password.
        package var managementURL: String?

        /// Scheme, host, port and virtual host of each address, without user and password.
        package var description: String { self.urls.map(Self.withoutAccount).joined(separator: ", ") }

        private static func withoutAccount(_ url: String) -> String {
            guard var parts = URLComponents(string: url) else { return "(not a URL)" }
            parts.user = nil
            parts.password = nil
            parts.query = nil
            return parts.string ?? "(not a URL)"
        }

        /// Divides a list of addresses: at each comma that another one follows, for a password may have commas.
        static func addresses(in list: String) -> [String] {
            var addresses: [String] = []
            for part in list.split(separator: ",", omittingEmptySubsequences: false) {
                let text = part.trimmingCharacters(in: .whitespacesAndNewlines)
                if addresses.isEmpty || text.hasPrefix("amqp://") || text.hasPrefix("amqps://") {
                    addresses.append(text)
                } else {
                    addresses[addresses.count - 1] += "," + part
                }
            }
            return addresses
        }
    }

    /// How the API listens, and its limits.
    package struct API: Sendable, Equatable {
        package var host: String
        package var port: Int
        package var certificateFile: String?
        package var keyFile: String?
        package var bodySize: Int
        package var sendSize: Int
        package var contentSize: Int
        package var headerSize: Int
        package var requestTime: Duration
        package var connections: Int
        package var connectionsPerPeer: Int
        package var inFlight: Int
        package var requestsPerSecond: Int
        package var trustedProxies: TrustedProxies
        package var classicWait: Duration
        package var page: Bool
        package var sessionLifetime: Duration
        package var sessionIdle: Duration
    }

    /// How the wire of hubs is served; its limits are those of the API.
    package struct Hub: Sendable, Equatable {
        package var host: String
        package var port: Int
        package var certificateFile: String?
        package var keyFile: String?
    }

    /// Where the workers' health and metrics are.
    package struct Workers: Sendable, Equatable {
        package var host: String
        package var registerPort: Int
        package var sendPort: Int
        package var deliveryPort: Int
    }

    /// How much a delivery worker does at a time.
    package struct Delivery: Sendable, Equatable {
        package var connections: Int
        package var devices: Int
    }

    /// How a process logs.
    package struct Log: Sendable, Equatable {
        /// Lines for people, or for machines.
        package enum Format: String, Sendable { case text, json }

        package var level: Logger.Level
        package var format: Format
    }

    package var store: Store
    /// The retention time of each kind of finished data.
    package var retention: [Retained: Duration]
    package var broker: Broker
    package var api: API
    package var hub: Hub
    package var workers: Workers
    package var delivery: Delivery
    package var drainTime: Duration
    package var log: Log

    /// Where `--config` is looked for when it is not given.
    package static let defaultFile = "Config/pushline.yaml"

    /// The file that is read where `--config` gave that one, or none; nil = no file.
    ///
    /// - Parameters:
    ///   - given: As given by `--config`.
    ///   - folder: Where ``defaultFile`` is looked for, with a slash at its end; empty = the working directory.
    /// - Returns: Its path.
    package static func chosenFile(_ given: String?, in folder: String = "") -> String? {
        let usual = folder + Self.defaultFile
        return given ?? (FileManager.default.fileExists(atPath: usual) ? usual : nil)
    }

    /// Reads file and environment.
    ///
    /// - Parameters:
    ///   - file: As given by `--config`; nil = ``defaultFile`` where that exists, else no file.
    ///   - environment: Variables; those named `PUSHLINE_…` override the file.
    /// - Throws: ``ConfigurationError`` that names the key.
    package init(
        file: String?,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws {
        let found = Self.chosenFile(file)
        if let found { try ConfigurationFile(path: found).check() }
        let values = try await ConfigurationValues(file: found, environment: environment)
        self.store = Store(
            path: try values.path(.storePath),
            backlog: try values.integer(.storeBacklog),
            reserve: try values.integer(.storeReserve)
        )
        guard !self.store.path.isEmpty else { throw ConfigurationError("store.path must name a file") }
        self.retention = try Dictionary(
            uniqueKeysWithValues: [
                (.jobs, .retentionJobs), (.devices, .retentionDevices), (.contents, .retentionContents),
                (.registrations, .retentionRegistrations), (.deadLetters, .retentionDead),
            ].map { (kind: Retained, key: ConfigurationKey) in (kind, .seconds(try values.integer(key) * 86_400)) }
        )
        self.retention[.recipients] = .zero
        self.retention[.sessions] = .zero
        self.retention[.templates] = .zero
        self.broker = try Broker(values)
        self.api = try API(values)
        self.hub = try Hub(values)
        self.workers = Workers(
            host: try values.text(.workersHost),
            registerPort: try values.integer(.registerPort),
            sendPort: try values.integer(.sendPort),
            deliveryPort: try values.integer(.deliveryPort)
        )
        self.delivery = Delivery(
            connections: try values.integer(.deliveryConnections),
            devices: try values.integer(.deliveryDevices)
        )
        self.drainTime = try values.duration(.drainTime)
        self.log = Log(
            level: Logger.Level(rawValue: try values.text(.logLevel)) ?? .info,
            format: Log.Format(rawValue: try values.text(.logFormat)) ?? .text
        )
    }
}

extension PushlineConfiguration.Broker {
    fileprivate init(_ values: ConfigurationValues) throws {
        self.urls = Self.addresses(in: try values.text(.brokerURL))
        self.caFile = try values.optionalPath(.brokerCA)
        self.certificateFile = try values.optionalPath(.brokerCertificate)
        self.keyFile = try values.optionalPath(.brokerKey)
        let heartbeat = try values.duration(.brokerHeartbeat)
        // In a cluster there is another node to go to, the sooner the better.
        self.heartbeat = heartbeat > .zero ? heartbeat : .seconds(self.urls.count > 1 ? 5 : 20)
        let management = try values.text(.brokerManagement)
        self.managementURL = management.isEmpty ? nil : management
        guard (self.certificateFile == nil) == (self.keyFile == nil) else {
            throw ConfigurationError("broker.certificate_file and broker.key_file belong together: give both or none")
        }
    }
}

extension PushlineConfiguration.API {
    fileprivate init(_ values: ConfigurationValues) throws {
        self.host = try values.text(.apiHost)
        self.port = try values.integer(.apiPort)
        self.certificateFile = try values.optionalPath(.apiCertificate)
        self.keyFile = try values.optionalPath(.apiKey)
        self.bodySize = try values.integer(.apiBodySize)
        self.sendSize = try values.integer(.apiSendSize)
        self.contentSize = try values.integer(.apiContentSize)
        self.headerSize = try values.integer(.apiHeaderSize)
        self.requestTime = try values.duration(.apiRequestTime)
        self.connections = try values.integer(.apiConnections)
        self.connectionsPerPeer = try values.integer(.apiConnectionsPerPeer)
        self.inFlight = try values.integer(.apiInFlight)
        self.requestsPerSecond = try values.integer(.apiRequestRate)
        self.classicWait = try values.duration(.apiClassicWait)
        self.page = try values.flag(.apiPage)
        self.sessionLifetime = try values.duration(.apiSessionLifetime)
        self.sessionIdle = try values.duration(.apiSessionIdle)
        let proxies = try values.text(.apiTrustedProxies)
        do { self.trustedProxies = try TrustedProxies(proxies) } catch {
            throw ConfigurationError("api.trusted_proxies: \(error)")
        }
        guard (self.certificateFile == nil) == (self.keyFile == nil) else {
            throw ConfigurationError("api.certificate_file and api.key_file belong together: give both or none")
        }
    }
}

extension PushlineConfiguration.Hub {
    fileprivate init(_ values: ConfigurationValues) throws {
        self.host = try values.text(.hubHost)
        self.port = try values.integer(.hubPort)
        self.certificateFile = try values.optionalPath(.hubCertificate)
        self.keyFile = try values.optionalPath(.hubKey)
        guard (self.certificateFile == nil) == (self.keyFile == nil) else {
            throw ConfigurationError("hub.certificate_file and hub.key_file belong together: give both or none")
        }
    }
}
