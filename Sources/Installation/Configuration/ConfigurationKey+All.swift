/// The keys, section by section. `Config/pushline.yaml` names exactly these; a test compares the two.
extension ConfigurationKey {
    static let storePath = text("store.path", default: "pushline.sqlite")
    static let storeBacklog = integer("store.backlog", in: 1...100_000_000, default: 1_000_000)

    static let storeReserve = integer("store.reserve", in: 0...1_099_511_627_776, default: 1_073_741_824)

    static let retentionJobs = days("retention.jobs", default: 7)
    static let retentionDevices = days("retention.devices", default: 3)
    static let retentionContents = days("retention.contents", default: 30)
    static let retentionRegistrations = days("retention.registrations", default: 90)
    static let retentionDead = days("retention.dead", default: 30)

    static let brokerURL = text("broker.url", default: "amqp://guest:guest@127.0.0.1:5672/")
    static let brokerCA = text("broker.ca_file")
    static let brokerCertificate = text("broker.certificate_file")
    static let brokerKey = text("broker.key_file")
    static let brokerHeartbeat = seconds("broker.heartbeat", in: 0...600, default: 0)
    static let brokerManagement = text("broker.management_url")

    static let apiHost = text("api.host", default: "127.0.0.1")
    static let apiPort = port("api.port", default: 8080)
    static let apiCertificate = text("api.certificate_file")
    static let apiKey = text("api.key_file")
    static let apiBodySize = integer("api.body_size", in: 1024...16_777_216, default: 65_536)
    static let apiSendSize = integer("api.send_size", in: 1024...16_777_216, default: 8_388_608)
    static let apiContentSize = integer("api.content_size", in: 1024...268_435_456, default: 8_388_608)
    static let apiHeaderSize = integer("api.header_size", in: 1024...1_048_576, default: 16_384)
    static let apiRequestTime = seconds("api.request_time", in: 1...3600, default: 30)
    static let apiConnections = integer("api.connections", in: 16...1_000_000, default: 10_000)
    static let apiConnectionsPerPeer = integer("api.connections_per_peer", in: 0...1_000_000, default: 2500)
    static let apiInFlight = integer("api.in_flight", in: 1...100_000, default: 1024)
    static let apiRequestRate = integer("api.requests_per_second", in: 1...1_000_000, default: 1000)
    static let apiTrustedProxies = text("api.trusted_proxies")
    static let apiClassicWait = seconds("api.classic_wait", in: 0...60, default: 10)

    static let apiPage = flag("api.page", default: true)
    static let apiSessionLifetime = seconds("api.session_lifetime", in: 1...31_536_000, default: 2_592_000)
    static let apiSessionIdle = seconds("api.session_idle", in: 1...31_536_000, default: 604_800)

    static let hubHost = text("hub.host", default: "127.0.0.1")
    static let hubPort = port("hub.port", default: 8443)
    static let hubCertificate = text("hub.certificate_file")
    static let hubKey = text("hub.key_file")

    static let workersHost = text("workers.host", default: "127.0.0.1")
    static let registerPort = port("workers.register_port", default: 8081)
    static let sendPort = port("workers.send_port", default: 8082)
    static let deliveryPort = port("workers.delivery_port", default: 8083)

    static let deliveryConnections = integer("delivery.connections", in: 1...64, default: 2)
    static let deliveryDevices = integer("delivery.devices", in: 1000...64_000, default: 8000)

    // Read by the simulator itself, which knows nothing of the rest; named here so that one file can serve all.
    static let simulator: [ConfigurationKey] = [
        text("simulator.folder"),
        text("simulator.state"),
        text("simulator.ports"),
        port("simulator.control_port", default: 0),
        integer("simulator.keep", in: 0...10_000_000, default: 200_000),
    ]

    static let drainTime = seconds("process.drain_time", in: 1...600, default: 30)
    static let logLevel = choice(
        "log.level",
        of: ["trace", "debug", "info", "notice", "warning", "error", "critical"],
        default: "info"
    )
    static let logFormat = choice("log.format", of: ["text", "json"], default: "text")

    /// All keys, in the order of the file.
    package static let all: [ConfigurationKey] =
        [
            storePath, storeBacklog, storeReserve,
            retentionJobs, retentionDevices, retentionContents, retentionRegistrations, retentionDead,
            brokerURL, brokerCA, brokerCertificate, brokerKey, brokerHeartbeat,
            brokerManagement,
            apiHost, apiPort, apiCertificate, apiKey, apiBodySize, apiSendSize, apiContentSize, apiHeaderSize,
            apiRequestTime, apiConnections, apiConnectionsPerPeer,
            apiInFlight, apiRequestRate, apiTrustedProxies, apiClassicWait,
            apiPage, apiSessionLifetime, apiSessionIdle,
            hubHost, hubPort, hubCertificate, hubKey,
            workersHost, registerPort, sendPort, deliveryPort,
            deliveryConnections, deliveryDevices,
        ] + simulator + [drainTime, logLevel, logFormat]
}
