import Foundation
package import Logging
package import PushModel

/// The configuration of a process: ports, broker, store and limits, without apps.
///
/// `Config/pushline.yaml` is written from it.
package struct PushlineConfiguration: SettingsSection {
    @Setting(.section, "") package var store = StoreSettings()
    @Setting(.section, "what is older is removed in the background, in small chunks")
    package var retention = RetentionSettings()
    @Setting(.section, "") package var broker = BrokerSettings()
    @Setting(.section, "") package var api = APISettings()
    @Setting(
        .section,
        "of pushline-hub, which serves the wire of Azure Notification Hubs; its limits are those of the API"
    )
    package var hub = HubSettings()
    @Setting(.section, "") package var workers = WorkerSettings()
    @Setting(.section, "") package var delivery = DeliverySettings()
    @Setting(.section, "of pushline-simulator alone") package var simulator = SimulatorSettings()
    @Setting(.section, "") package var process = ProcessSettings()
    @Setting(.section, "") package var log = LogSettings()
    @Setting(
        .section,
        "of requests and what comes of them; OpenTelemetry's own variables count where neither a variable of ours nor the file says other than the default"
    )
    package var traces = TraceSettings()

    /// Every key has its default.
    package init() {}

    /// The first of these that exists is read if `--config` is not given: a checkout's, in the working directory, if it is the user's own; or
    /// the package's.
    package static let defaultFiles = ["Config/pushline.yaml", "/etc/pushline/pushline.yaml"]
    /// ``defaultFiles``, for people.
    package static let defaultFilesText = defaultFiles.joined(separator: " or ")

    /// The file that is read where `--config` gave that one, or none; nil = no file.
    ///
    /// - Parameters:
    ///   - given: As given by `--config`.
    ///   - files: Which are looked for where none was given.
    /// - Returns: Its path.
    package static func chosenFile(_ given: String?, of files: [String] = Self.defaultFiles) -> String? {
        given ?? files.first { FileManager.default.fileExists(atPath: $0) && ($0.hasPrefix("/") || Self.isTrusted($0)) }
    }

    /// Whether a file of the working directory is this user's or root's, and not everybody's to write: another user's would name where keys go.
    static func isTrusted(_ file: String) -> Bool {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file),
            let owner = attributes[.ownerAccountID] as? NSNumber, let mode = attributes[.posixPermissions] as? NSNumber
        else { return false }
        return [0, geteuid()].contains(owner.uint32Value) && mode.uint16Value & 0o002 == 0
    }

    /// Reads file and environment.
    ///
    /// - Parameters:
    ///   - file: As given by `--config`; nil = the first of ``defaultFiles`` that exists, else no file.
    ///   - environment: Variables; those named `PUSHLINE_…` override the file.
    /// - Throws: ``ConfigurationError`` that names the key.
    package init(
        file: String?,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        self.init()
        var environment = environment
        // As the quickstart's own variables name it.
        if let store = environment["PUSHLINE_STORE"], environment["PUSHLINE_STORE_PATH"] == nil {
            environment["PUSHLINE_STORE_PATH"] = store
        }
        try SettingsReader(file: Self.chosenFile(file), environment: environment).read(into: self)
    }

    /// All keys, in the order of the file.
    package static var rows: [SettingRow] { SettingRow.all(of: Self()) }
}

/// Where the store is: in a file, or at the servers of a PostgreSQL.
package struct StoreSettings: SettingsSection {
    @Setting(
        .path,
        "the SQLite file that holds everything; local disk, shared by all processes of this host; empty = none, where url is given"
    )
    package var path: String? = "pushline.sqlite"
    /// Never holds a password: such an address is refused when it is used.
    @Setting(
        .text,
        "in place of path: PostgreSQL, as libpq reads it: postgresql://user@host1,host2,host3/database?sslrootcert=FILE, without a password"
    )
    package var url: String? = nil
    @Setting(
        .path,
        "with url: file that holds its user's password and nothing else; read for each connection"
    )
    package var passwordFile: String? = nil
    @Setting(
        .path,
        "with url: folder of the locks by which processes of this host share a port (a file has them beside it); empty = the temporary one"
    )
    package var lockFolder: String? = nil
    @Setting(
        .integer(1...100_000_000),
        "jobs accepted and unfinished; above it requests are answered 503 with Retry-After"
    )
    package var backlog = 1_000_000
    @Setting(
        .integer(0...1_099_511_627_776),
        "bytes, of a file's disk; with less free space, uploads to /api/contents are answered 507; nothing else is refused"
    )
    package var reserve = 1_073_741_824

    package init() {}

    package var fault: SettingFault? {
        guard self.url == nil else { return nil }
        if self.path == nil { return SettingFault("must be the name of a file", path: "path") }
        return self.passwordFile == nil ? nil : SettingFault("goes with store.url", path: "password_file")
    }
}

/// For how long what is finished is kept.
package struct RetentionSettings: SettingsSection {
    @Setting(.days, "days after a job's end that it can be asked for, with its counts and its idempotency key")
    package var jobs = Duration.seconds(30 * 86_400)
    @Setting(.days, "days that single devices are listed; the job's counts outlive them")
    package var devices = Duration.seconds(14 * 86_400)
    @Setting(.days, "days that uploaded contents and rich notifications are kept")
    package var contents = Duration.seconds(30 * 86_400)
    @Setting(.days, "days that an ended registration is kept; after that a PUT to a deleted id creates it again")
    package var registrations = Duration.seconds(90 * 86_400)
    @Setting(.days, "days that dead letters and their jobs are kept")
    package var dead = Duration.seconds(30 * 86_400)

    package init() {}
}

/// How the wire of hubs is served.
package struct HubSettings: SettingsSection {
    @Setting(.text, "address to listen on") package var host = "127.0.0.1"
    @Setting(.port, "may be shared by hubs of one store; 0 = any free one") package var port = 8443
    @Setting(.path, "PEM file with the certificate chain; with a key, HTTPS with HTTP/1.1 and HTTP/2")
    package var certificateFile: String? = nil
    @Setting(.path, "PEM file with the certificate's private key") package var keyFile: String? = nil

    package init() {}

    package var fault: SettingFault? { CertificatePair.fault(self.certificateFile, self.keyFile) }
}

/// Where the workers' health and metrics are.
package struct WorkerSettings: SettingsSection {
    @Setting(.text, "address of the workers' /healthz, /readyz and /metrics") package var host = "127.0.0.1"
    @Setting(.port, "if it is taken: + 10, + 20 … + 90; 0 = any free one") package var registerPort = 8081
    @Setting(.port, "likewise") package var sendPort = 8082
    @Setting(.port, "likewise") package var deliveryPort = 8083

    package init() {}
}

/// How much a delivery worker does at a time.
package struct DeliverySettings: SettingsSection {
    @Setting(.integer(1...64), "connections to each push service, for each app") package var connections = 2
    @Setting(
        .integer(1000...64_000),
        "devices in progress at a time, for each push service; bounds repeats after a crash"
    )
    package var devices = 8000

    package init() {}
}

/// What the simulator of push services writes and keeps.
package struct SimulatorSettings: SettingsSection {
    @Setting(.path, "where certificates, keys and apps.yaml are written; empty = a temporary folder")
    package var folder: String? = nil
    @Setting(.path, "file that the addresses are written to, as JSON; empty = none") package var state: String? = nil
    @Setting(
        .text,
        "of apns, apnsChannels, fcm, wns and web, such as apns=8443,fcm=8444; any free ones for those that are not named"
    )
    package var ports: String? = nil
    @Setting(.port, "0 = any free one") package var controlPort = 0
    @Setting(.integer(0...10_000_000), "received pushes that are kept") package var keep = 200_000

    package init() {}
}

/// How a process ends.
package struct ProcessSettings: SettingsSection {
    @Setting(.seconds(1...600), "seconds after SIGTERM to finish what was begun")
    package var drainTime = Duration.seconds(30)

    package init() {}
}

/// How a process logs.
package struct LogSettings: SettingsSection {
    /// Lines for people, or for machines.
    package enum Format: String, Sendable, CaseIterable { case text, json }

    @Setting(.choice, "trace, debug, info, notice, warning, error, critical") package var level = Logger.Level.info
    @Setting(.choice, "text for people, json for machines") package var format = Format.text
    @Setting(.flag, "a line for each request of API and hub, at info, also where level leaves that out")
    package var access = false

    package init() {}
}

/// A certificate and its key.
enum CertificatePair {
    static func fault(_ certificate: String?, _ key: String?) -> SettingFault? {
        guard (certificate == nil) != (key == nil) else { return nil }
        let path = certificate == nil ? "certificate_file" : "key_file"
        return SettingFault("is missing: certificate_file and key_file belong together", path: path)
    }
}
