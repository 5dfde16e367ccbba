/// The keys, section by section. `Config/pushline.yaml` names exactly these; a test compares the two.
extension ConfigurationKey {
    static let storePath = text(
        "store.path",
        default: "pushline.sqlite",
        "The SQLite file that holds everything; on a local disk, shared by all processes of this host."
    )
    static let storeBacklog = count(
        "store.backlog",
        in: 1...100_000_000,
        unit: "jobs",
        default: 1_000_000,
        "Maximum unfinished jobs; beyond it, requests are answered 503 with Retry-After."
    )

    static let storeReserve = bytes(
        "store.reserve",
        in: 0...1_099_511_627_776,
        default: 1_073_741_824,
        "Free disk space reserved for sends; with less, uploads to /api/contents are answered 507."
    )

    static let retentionJobs = days(
        "retention.jobs",
        default: 7,
        "Retention of finished jobs, with their counts and idempotency keys."
    )
    static let retentionDevices = days(
        "retention.devices",
        default: 3,
        "Retention of single device outcomes; the job's counts stay."
    )
    static let retentionContents = days(
        "retention.contents",
        default: 30,
        "Retention of uploaded contents and rich notifications."
    )
    static let retentionRegistrations = days(
        "retention.registrations",
        default: 90,
        "Retention of ended registrations; afterwards a PUT to a deleted id creates it again."
    )
    static let retentionDead = days(
        "retention.dead",
        default: 30,
        "Retention of dead letters and their jobs."
    )

    static let brokerURL = text(
        "broker.url",
        default: "amqp://guest:guest@127.0.0.1:5672/",
        isSecret: true,
        "RabbitMQ: amqp:// or amqps://, user:password@host:port/virtual-host."
    )
    static let brokerCA = text(
        "broker.ca_file",
        "PEM file of trusted certificate authorities for amqps; empty = the system's."
    )
    static let brokerCertificate = text(
        "broker.certificate_file",
        "PEM file of the client certificate for amqps; empty = none."
    )
    static let brokerKey = text(
        "broker.key_file",
        "PEM file with the client certificate's private key; empty = none."
    )
    static let brokerHeartbeat = seconds(
        "broker.heartbeat",
        in: 1...600,
        default: 20,
        "AMQP heartbeat interval; a connection is dropped after two silent intervals."
    )

    static let apiHost = text("api.host", default: "127.0.0.1", "The address that the API listens on.")
    static let apiPort = port(
        "api.port",
        default: 8080,
        "The port that the API listens on, alone or with others of this store; 0 = any free one."
    )
    static let apiCertificate = text(
        "api.certificate_file",
        "PEM file with the certificate chain; with a key, the API speaks HTTPS (HTTP/1.1 and HTTP/2)."
    )
    static let apiKey = text("api.key_file", "PEM file with the certificate's private key.")
    static let apiBodySize = bytes(
        "api.body_size",
        in: 1024...16_777_216,
        default: 65_536,
        "Maximum size of a request body, except sends and uploads; larger ones are answered 413."
    )
    static let apiSendSize = bytes(
        "api.send_size",
        in: 1024...16_777_216,
        default: 4_194_304,
        "Maximum size of a send, as a body or an NDJSON line; fits 20,000 user names."
    )
    static let apiContentSize = bytes(
        "api.content_size",
        in: 1024...268_435_456,
        default: 8_388_608,
        "Maximum size of an upload to /api/contents."
    )
    static let apiHeaderSize = bytes(
        "api.header_size",
        in: 1024...1_048_576,
        default: 16_384,
        "Maximum size of all headers of a request."
    )
    static let apiRequestTime = seconds(
        "api.request_time",
        in: 1...3600,
        default: 30,
        "Timeout for sending a request, for an idle connection, and for reading 32 KiB of a response."
    )
    static let apiConnections = count(
        "api.connections",
        in: 16...1_000_000,
        unit: "connections",
        default: 10_000,
        "Maximum connections; beyond it, connections without a request are closed. At most the descriptor limit minus 200."
    )
    static let apiConnectionsPerPeer = count(
        "api.connections_per_peer",
        in: 0...1_000_000,
        unit: "connections",
        default: 2500,
        "Maximum connections from one address (IPv6: one /64); more are closed at once. 0 = no limit."
    )
    static let apiInFlight = count(
        "api.in_flight",
        in: 1...100_000,
        unit: "requests",
        default: 1024,
        "Maximum concurrent requests; more are answered 503."
    )
    static let apiRequestRate = count(
        "api.requests_per_second",
        in: 1...1_000_000,
        unit: "requests per second",
        default: 1000,
        "Rate limit of each account or key, unless its app declares another; more are answered 429 with Retry-After."
    )
    static let apiTrustedProxies = text(
        "api.trusted_proxies",
        "Proxies whose X-Forwarded-For is trusted: addresses and networks, separated by commas."
    )
    static let apiClassicWait = seconds(
        "api.classic_wait",
        in: 0...60,
        default: 10,
        "How long classic routes wait for the hub; afterwards a send is answered 200 and a registration 503."
    )

    static let workersHost = text(
        "workers.host",
        default: "127.0.0.1",
        "The address of the workers' health and metrics."
    )
    static let registerPort = port(
        "workers.register_port",
        default: 8081,
        "Port of the register worker, or the next of + 10 … + 90 that is free; 0 = any."
    )
    static let sendPort = port(
        "workers.send_port",
        default: 8082,
        "Port of the send worker, or the next of + 10 … + 90 that is free; 0 = any."
    )
    static let deliveryPort = port(
        "workers.delivery_port",
        default: 8083,
        "Port of the delivery worker, or the next of + 10 … + 90 that is free; 0 = any."
    )

    static let deliveryConnections = count(
        "delivery.connections",
        in: 1...64,
        unit: "connections",
        default: 2,
        "Maximum connections of a delivery worker to each push service, per app."
    )
    static let deliveryDevices = count(
        "delivery.devices",
        in: 1000...64_000,
        unit: "devices",
        default: 8000,
        "Maximum devices in flight of a delivery worker, per push service; bounds duplicates after a crash."
    )

    // Read by the simulator itself, which knows nothing of the rest; named here so that one file can serve all.
    static let simulator: [ConfigurationKey] = [
        text("simulator.folder", "Folder for certificates, keys and apps.yaml; empty = a temporary folder."),
        text("simulator.state", "File for the addresses, as JSON; empty = none."),
        text(
            "simulator.ports",
            "Ports of services, such as apns=8443,fcm=8444; any free ones for those that are not named."
        ),
        port("simulator.control_port", default: 0, "Port of the control address; 0 = any free one."),
        count(
            "simulator.keep",
            in: 0...10_000_000,
            unit: "pushes",
            default: 200_000,
            "Maximum number of received pushes kept; counts include all."
        ),
    ]

    static let drainTime = seconds(
        "process.drain_time",
        in: 1...600,
        default: 30,
        "Maximum time for finishing work after SIGTERM."
    )
    static let logLevel = choice(
        "log.level",
        of: ["trace", "debug", "info", "notice", "warning", "error", "critical"],
        default: "info",
        "Minimum log level."
    )
    static let logFormat = choice(
        "log.format",
        of: ["text", "json"],
        default: "text",
        "Log format: text or JSON lines."
    )

    /// All keys, in the order of the file.
    package static let all: [ConfigurationKey] =
        [
            storePath, storeBacklog, storeReserve,
            retentionJobs, retentionDevices, retentionContents, retentionRegistrations, retentionDead,
            brokerURL, brokerCA, brokerCertificate, brokerKey, brokerHeartbeat,
            apiHost, apiPort, apiCertificate, apiKey, apiBodySize, apiSendSize, apiContentSize, apiHeaderSize,
            apiRequestTime, apiConnections, apiConnectionsPerPeer,
            apiInFlight, apiRequestRate, apiTrustedProxies, apiClassicWait,
            workersHost, registerPort, sendPort, deliveryPort,
            deliveryConnections, deliveryDevices,
        ] + simulator + [drainTime, logLevel, logFormat]
}
