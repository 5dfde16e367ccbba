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
        "The most jobs that are accepted and unfinished; then requests are answered 503 with Retry-After."
    )

    static let storeReserve = bytes(
        "store.reserve",
        in: 0...1_099_511_627_776,
        default: 1_073_741_824,
        "With less free disk space uploads to /api/contents are answered 507; the rest is for sends."
    )

    static let retentionJobs = days(
        "retention.jobs",
        default: 7,
        "How long a finished job can be asked for, with its counts and its idempotency key."
    )
    static let retentionDevices = days(
        "retention.devices",
        default: 3,
        "How long single devices that failed are listed; the job's counts outlive them."
    )
    static let retentionContents = days(
        "retention.contents",
        default: 30,
        "How long uploaded contents and rich notifications are kept."
    )
    static let retentionRegistrations = days(
        "retention.registrations",
        default: 90,
        "How long an ended registration is kept; after that a PUT to a deleted id creates it again."
    )
    static let retentionDead = days(
        "retention.dead",
        default: 30,
        "How long messages are kept that nobody could work on; their jobs are kept as long."
    )

    static let brokerURL = text(
        "broker.url",
        default: "amqp://guest:guest@127.0.0.1:5672/",
        isSecret: true,
        "RabbitMQ: amqp:// or amqps://, user:password@host:port/virtual-host."
    )
    static let brokerCA = text(
        "broker.ca_file",
        "PEM file with the authorities to trust for amqps; empty = the system's."
    )
    static let brokerCertificate = text(
        "broker.certificate_file",
        "PEM file with our client certificate for amqps; empty = none."
    )
    static let brokerKey = text(
        "broker.key_file",
        "PEM file with the client certificate's private key; empty = none."
    )
    static let brokerHeartbeat = seconds(
        "broker.heartbeat",
        in: 1...600,
        default: 20,
        "How often both sides show that they live; a silent connection is dropped after two."
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
        "The longest body of a request, sends and uploads apart; longer ones are answered 413."
    )
    static let apiSendSize = bytes(
        "api.send_size",
        in: 1024...16_777_216,
        default: 4_194_304,
        "The longest send, as a body or a line of many; room for 20,000 users' names."
    )
    static let apiContentSize = bytes(
        "api.content_size",
        in: 1024...268_435_456,
        default: 8_388_608,
        "The longest upload to /api/contents."
    )
    static let apiHeaderSize = bytes(
        "api.header_size",
        in: 1024...1_048_576,
        default: 16_384,
        "The most that all headers of a request may have together."
    )
    static let apiRequestTime = seconds(
        "api.request_time",
        in: 1...3600,
        default: 30,
        "The time to send a request, for an idle connection to send the next, and to read 32 KiB of a response."
    )
    static let apiConnections = count(
        "api.connections",
        in: 16...1_000_000,
        unit: "connections",
        default: 10_000,
        "The most connections; above it those without a request are closed. At most the descriptor limit minus 200."
    )
    static let apiConnectionsPerPeer = count(
        "api.connections_per_peer",
        in: 0...1_000_000,
        unit: "connections",
        default: 2500,
        "The most connections from one address (IPv6: one /64); more are closed at once. 0 = no limit."
    )
    static let apiInFlight = count(
        "api.in_flight",
        in: 1...100_000,
        unit: "requests",
        default: 1024,
        "The most requests that are worked on at a time; more are answered 503."
    )
    static let apiRequestRate = count(
        "api.requests_per_second",
        in: 1...1_000_000,
        unit: "requests per second",
        default: 1000,
        "For each account or key, where its app names no other; more are answered 429 with Retry-After."
    )
    static let apiTrustedProxies = text(
        "api.trusted_proxies",
        "Proxies whose X-Forwarded-For is trusted: addresses and networks, separated by commas."
    )
    static let apiClassicWait = seconds(
        "api.classic_wait",
        in: 0...60,
        default: 10,
        "How long the classic routes wait for the hub's answer; then a send is 200 all the same, a registration 503."
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
        "The most connections of a delivery worker to each push service, for each app."
    )
    static let deliveryDevices = count(
        "delivery.devices",
        in: 1000...64_000,
        unit: "devices",
        default: 8000,
        "The most devices that a delivery worker is at, for each push service; bounds repeats after a crash."
    )

    // Read by the simulator itself, which knows nothing of the rest; named here so that one file can serve all.
    static let simulator: [ConfigurationKey] = [
        text("simulator.folder", "Where certificates, keys and apps.yaml are written; empty = a temporary folder."),
        text("simulator.state", "The file that the addresses are written to, as JSON; empty = none."),
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
            "Received pushes that are kept; the counts are of all."
        ),
    ]

    static let drainTime = seconds(
        "process.drain_time",
        in: 1...600,
        default: 30,
        "How long a process may go on after SIGTERM, to finish what it has begun."
    )
    static let logLevel = choice(
        "log.level",
        of: ["trace", "debug", "info", "notice", "warning", "error", "critical"],
        default: "info",
        "The least severe level that is logged."
    )
    static let logFormat = choice(
        "log.format",
        of: ["text", "json"],
        default: "text",
        "Lines for people, or JSON lines."
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
