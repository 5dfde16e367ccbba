// swift-tools-version: 6.3
import PackageDescription

// Warnings as errors and strict memory safety are asked for by `deploy/test` and CI, for our own targets alone.
let strict = Context.environment["PUSHLINE_STRICT"] == "1"

let swiftSettings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
    ]
    + (strict
        ? [
            .strictMemorySafety(),
            .treatAllWarnings(as: .error),
            .treatWarning("StrictLanguageFeatures", as: .error),
        ] : [])

/// Products of other packages, by the short names used below.
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let deques = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdHTTP2 = Target.Dependency.product(name: "HummingbirdHTTP2", package: "hummingbird")
let hummingbirdTesting = Target.Dependency.product(name: "HummingbirdTesting", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
let jwtKit = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let nioConcurrency = Target.Dependency.product(name: "NIOConcurrencyHelpers", package: "swift-nio")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioFoundation = Target.Dependency.product(name: "NIOFoundationCompat", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP1 = Target.Dependency.product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let orderedCollections = Target.Dependency.product(name: "OrderedCollections", package: "swift-collections")
let swiftASN1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

let package = Package(
    name: "pushline",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "PushlineClient", targets: ["PushlineClient"]),
        .executable(name: "pushline", targets: ["pushline"]),
        .executable(name: "pushline-api", targets: ["pushline-api"]),
        .executable(name: "pushline-hub", targets: ["pushline-hub"]),
        .executable(name: "pushline-register-worker", targets: ["pushline-register-worker"]),
        .executable(name: "pushline-send-worker", targets: ["pushline-send-worker"]),
        .executable(name: "pushline-delivery-worker", targets: ["pushline-delivery-worker"]),
        .executable(name: "pushline-simulator", targets: ["pushline-simulator"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.0"),
    ],
    targets: [
        // C libraries: one Swift target imports each.
        .systemLibrary(name: "CRabbitMQ", pkgConfig: "librabbitmq", providers: [.apt(["librabbitmq-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),

        // Files that are part of the programs, by `#embed` of C23: a change of one compiles it anew.
        .target(name: "CResources", exclude: ["openapi.yaml", "app", "console"]),

        // Crashes and jumping clocks for tests, in debug builds alone.
        .target(name: "FaultInjection"),

        // Values and pure functions.
        .target(name: "PushModel", dependencies: ["FaultInjection", crypto]),
        .target(name: "Payloads", dependencies: ["PushModel", crypto]),
        // Hashes of passwords and the secrets of keys, for the API and the command line alike; whose password is checked first.
        .target(
            name: "Authentication",
            dependencies: [
                "PushModel", "PushlineMetrics", "Store", crypto, cryptoExtras, logging, metrics, nioConcurrency,
                nioCore,
            ]
        ),
        // The tokens of an app's own issuer, and its keys.
        .target(
            name: "JSONWebTokens",
            dependencies: [
                "OutgoingHTTP", "PushModel", asyncHTTPClient, crypto, cryptoExtras, logging, nioConcurrency, nioCore,
                nioHTTP1,
            ]
        ),

        // Azure Notification Hubs' wire: tokens, XML, JSON, templates.
        .target(name: "HubWire", dependencies: ["PushModel", crypto]),

        // What all outgoing requests share.
        .target(
            name: "OutgoingHTTP",
            dependencies: [
                "PushModel", "PushlineMetrics", asyncHTTPClient, logging, metrics, nioConcurrency, nioCore, nioHTTP1,
                nioPosix, nioSSL,
            ]
        ),

        // What is measured: one table.
        .target(name: "PushlineMetrics", dependencies: [metrics]),
        // Spans of requests and of what comes of them, and their way to a collector.
        .target(
            name: "PushlineTracing",
            dependencies: [
                "OutgoingHTTP", "PushModel", "PushlineMetrics", "Settings", asyncHTTPClient, deques, lifecycle, logging,
                metrics, nioConcurrency, nioCore, nioHTTP1, tracing,
            ]
        ),
        // What a line of the log is about, and how it is written.
        .target(name: "PushlineLogging", dependencies: ["PushModel", "Settings", logging, nioConcurrency]),

        // The wire towards the push services.
        .target(
            name: "HTTP2Engine",
            dependencies: ["CNghttp2", deques, logging, nioCore, nioPosix, nioSSL, nioTLS]
        ),
        .target(
            name: "PushServices",
            dependencies: [
                "PushModel", "Payloads", "PushlineMetrics", "HTTP2Engine", "OutgoingHTTP", "Settings", asyncHTTPClient,
                crypto, cryptoExtras, lifecycle, logging, metrics,
                nioConcurrency, nioCore, nioFoundation, nioHTTP1, nioPosix, nioSSL, swiftASN1, x509,
            ]
        ),
        .target(
            name: "PushlineSimulator",
            dependencies: [
                "PushModel", "Settings", crypto, cryptoExtras, deques, lifecycle, logging, nioConcurrency, nioCore,
                nioHTTP1, nioHTTP2, nioPosix, nioSSL, nioTLS, orderedCollections, swiftASN1, x509,
            ]
        ),

        // An Azure Notification Hub, from outside.
        .target(
            name: "HubAzure",
            dependencies: [
                "Hub", "HubWire", "OutgoingHTTP", "PushModel", asyncHTTPClient, lifecycle, logging, nioConcurrency,
                nioCore, nioHTTP1, nioPosix, nioSSL,
            ]
        ),

        // Contracts.
        .target(name: "Hub", dependencies: ["PushModel", "Store"]),
        .target(name: "Store", dependencies: ["PushModel", deques, nioConcurrency]),
        .target(name: "Broker", dependencies: ["PushModel", deques, lifecycle, nioConcurrency]),

        // What stands in the outbox is published here, whoever wrote it.
        .target(
            name: "Outbox",
            dependencies: [
                "Store", "Broker", "PushModel", "PushlineTracing", "FaultInjection", logging, nioConcurrency, tracing,
            ]
        ),

        // Drivers.
        .target(
            name: "BrokerRabbitMQ",
            dependencies: [
                "Broker", "PushModel", "PushlineMetrics", "CRabbitMQ", deques, lifecycle, logging, metrics,
                nioConcurrency,
            ]
        ),
        .target(name: "StoreKit", dependencies: ["Store", "PushModel", crypto]),
        // What is the same text in every SQL engine.
        .target(name: "StoreSQL", dependencies: ["StoreKit", "Store", "PushModel", logging]),
        .target(
            name: "StoreSQLite",
            dependencies: [
                "CSQLite", "StoreSQL", "StoreKit", "Store", "PushModel", "PushlineMetrics", "FaultInjection", grdb,
                grdbSQLite,
                deques, crypto,
                lifecycle, logging, metrics, nioConcurrency,
            ]
        ),
        .target(
            name: "StorePostgreSQL",
            dependencies: [
                "CPostgreSQL", "StoreSQL", "StoreKit", "Store", "PushModel", "PushlineMetrics", "FaultInjection",
                deques,
                lifecycle, logging, metrics, nioConcurrency,
            ]
        ),

        // The work.
        .target(
            name: "Pipeline",
            dependencies: [
                "Hub", "Store", "Broker", "OutgoingHTTP", "Outbox", "Payloads", "PushModel", "PushlineLogging",
                "PushlineMetrics", "PushlineTracing", "PushServices", "Settings", "FaultInjection", crypto, lifecycle,
                logging, metrics, nioConcurrency, tracing,
            ]
        ),
        // What serves HTTP, whatever is asked for: connections, bodies, limits, refusals.
        .target(
            name: "WebServing",
            dependencies: [
                "CZlib", "Broker", "Settings", "Store", "PushModel", "PushlineLogging", "PushlineMetrics",
                "PushlineTracing", deques, httpTypes, hummingbird, hummingbirdCore, lifecycle, logging, metrics,
                nioConcurrency, nioCore, nioHTTP1, nioHTTPTypes, nioHTTPTypesHTTP1, nioPosix, tracing,
            ]
        ),
        // The use cases of sending and registering, whoever asks and however: no HTTP.
        .target(
            name: "Intake",
            dependencies: [
                "Broker", "FaultInjection", "HubAzure", "Outbox", "Payloads", "PushModel", "PushlineLogging",
                "PushlineMetrics", "PushlineTracing", "Store", deques, lifecycle, logging, metrics, nioConcurrency,
                nioCore,
            ]
        ),
        .target(
            name: "HTTPAPI",
            dependencies: [
                "CResources", "WebServing", "Intake", "Authentication", "JSONWebTokens", "Settings", "Store", "Broker",
                "Payloads", "PushModel", "PushlineLogging", "PushlineMetrics", "PushlineTracing", crypto, httpTypes,
                hummingbird, lifecycle, logging, metrics, nioConcurrency, nioCore, yams,
            ]
        ),
        // The embedded hub on Azure Notification Hubs' wire.
        .target(
            name: "HubServer",
            dependencies: [
                "WebServing", "Intake", "Hub", "HubWire", "Settings", "Store", "Broker", "Payloads", "PushModel",
                "PushlineLogging", "PushlineTracing", crypto, httpTypes, hummingbird, lifecycle, logging, nioCore,
            ]
        ),
        .target(name: "PushlineClient"),

        // The configuration: a row a key.
        .target(name: "Settings", dependencies: ["PushModel", logging, yams]),

        // What a host's configuration names: the store, the broker, ports and limits.
        .target(
            name: "Installation",
            dependencies: [
                "Settings", "BrokerRabbitMQ", "StorePostgreSQL", "StoreSQLite", "StoreKit", "Store", "Broker",
                "PushModel",
                crypto, lifecycle, logging, nioConcurrency, nioCore,
            ]
        ),
        .target(
            name: "PushlineCommands",
            dependencies: [
                "PushlineClient", "PushModel", "Payloads", "Store", "StoreKit", "Broker", "PushServices",
                "Installation",
                "Settings",
                "Authentication", "HubAzure", "HubWire", "JSONWebTokens", "OutgoingHTTP", argumentParser,
                asyncHTTPClient, crypto, lifecycle, logging, nioCore, nioHTTP1, nioPosix, nioSSL,
            ]
        ),
        .target(
            name: "Runtime",
            dependencies: [
                "Installation", "Settings", "HubAzure", "HubServer", "Pipeline", "PushServices",
                "HTTPAPI", "WebServing", "Intake", "Hub",
                "Store",
                "Broker", "PushModel", "PushlineLogging", "PushlineMetrics", "PushlineTracing",
                .target(name: "CMalloc", condition: .when(platforms: [.linux])),
                argumentParser, hummingbird, hummingbirdCore, hummingbirdHTTP2, hummingbirdTLS, lifecycle,
                logging, metrics, nioConcurrency, nioCore, nioPosix, nioSSL, unixSignals,
            ]
        ),

        // Executables: parse and run.
        .executableTarget(name: "pushline", dependencies: ["PushlineCommands"]),
        .executableTarget(name: "pushline-api", dependencies: ["Runtime", "PushModel", argumentParser]),
        .executableTarget(name: "pushline-hub", dependencies: ["Runtime", "PushModel", argumentParser]),
        .executableTarget(name: "pushline-register-worker", dependencies: ["Runtime", "PushModel", argumentParser]),
        .executableTarget(name: "pushline-send-worker", dependencies: ["Runtime", "PushModel", argumentParser]),
        .executableTarget(name: "pushline-delivery-worker", dependencies: ["Runtime", "PushModel", argumentParser]),
        .executableTarget(
            name: "pushline-simulator",
            dependencies: [
                "PushlineLogging", "PushlineSimulator", "PushModel", "Settings", argumentParser, lifecycle, logging,
                unixSignals,
            ]
        ),

        // Tests: one target a library; what needs a server is in IntegrationTests.
        .testTarget(name: "PushModelTests", dependencies: ["PushModel", "Undisturbed"]),
        .testTarget(name: "PayloadsTests", dependencies: ["MessageSamples", "Payloads", "PushModel", "Undisturbed"]),
        .testTarget(
            name: "AuthenticationTests",
            dependencies: ["Authentication", "PushModel", logging, nioConcurrency]
        ),
        .testTarget(
            name: "HubWireTests",
            dependencies: ["HubWire", "Payloads", "PushModel", "SeededRandom", "StoreKit", "WorkCost"]
        ),
        .testTarget(
            name: "HubAzureTests",
            dependencies: [
                "Hub", "HubAzure", "HubWire", "OutgoingHTTP", "PushModel", "PushlineSimulator", "RawHTTP",
                "Undisturbed",
                logging, nioConcurrency, nioHTTP1, nioPosix, nioSSL,
            ]
        ),
        .testTarget(
            name: "JSONWebTokensTests",
            dependencies: [
                "JSONWebTokens", "PushModel", "PushlineSimulator", "RawHTTP", "TokenIssuer", "WorkCost", "Undisturbed",
                crypto,
                cryptoExtras,
                logging, nioConcurrency, nioSSL,
            ]
        ),
        .testTarget(
            name: "OutgoingHTTPTests",
            dependencies: [
                "OutgoingHTTP", "PushlineSimulator", "RawHTTP", "Undisturbed", asyncHTTPClient, logging, nioConcurrency,
                nioCore,
                nioHTTP1, nioPosix, nioSSL,
            ]
        ),
        .testTarget(
            name: "HTTP2EngineTests",
            dependencies: [
                "HTTP2Engine", "PushModel", "PushlineSimulator", "RawHTTP", "Undisturbed", crypto, logging,
                nioConcurrency, nioPosix,
            ]
        ),
        .testTarget(
            name: "PushServicesTests",
            dependencies: [
                "PushServices", "PushlineMetrics", "PushlineSimulator", "Payloads", "PushModel", "HTTP2Engine",
                "OutgoingHTTP", "RawHTTP", "Undisturbed",
                asyncHTTPClient, crypto, cryptoExtras, logging, metrics, metricsTestKit, nioConcurrency, nioCore,
                nioHTTP1,
                nioPosix, nioSSL,
            ]
        ),
        .testTarget(
            name: "PushlineSimulatorTests",
            dependencies: [
                "PushModel", "PushlineSimulator", "Undisturbed", asyncHTTPClient, crypto, jwtKit, nioCore, nioHTTP1,
                nioPosix,
                nioSSL,
            ]
        ),
        // A value of each member of a message, and what arrives of it.
        .target(name: "MessageSamples", dependencies: ["PushModel"], path: "Tests/MessageSamples"),
        // What reading an input costs.
        .target(name: "WorkCost", path: "Tests/WorkCost"),
        // What runs a test again where the machine stood.
        .target(name: "Undisturbed", path: "Tests/Undisturbed"),
        .target(name: "BrokerContract", dependencies: ["Broker"], path: "Tests/BrokerContract"),
        .target(name: "SeededRandom", path: "Tests/SeededRandom"),
        .target(
            name: "RawHTTP",
            dependencies: [nioConcurrency, nioCore, nioHTTP1, nioPosix, nioSSL],
            path: "Tests/RawHTTP"
        ),
        // A front whose store has lost each answer.
        .target(
            name: "AnswersLost",
            dependencies: [
                "PushModel", "PushlineTracing", "RawHTTP", "Store", "WebServing", httpTypes, hummingbird,
                hummingbirdCore, lifecycle,
                logging, nioCore,
            ],
            path: "Tests/AnswersLost"
        ),
        .target(name: "TokenIssuer", dependencies: ["PushModel", crypto, cryptoExtras], path: "Tests/TokenIssuer"),
        .testTarget(
            name: "PushlineTracingTests",
            dependencies: [
                "LogRecorder", "PushModel", "PushlineTracing", "RawHTTP", "Settings", "Undisturbed", lifecycle, logging,
                nioConcurrency,
                nioHTTP1, tracing,
            ]
        ),
        .testTarget(name: "BrokerTests", dependencies: ["Broker", "BrokerContract"]),
        .testTarget(name: "StoreKitTests", dependencies: ["StoreKit", "Store", "PushModel", "WorkCost"]),
        // What any driver of the store must do: its suites run in the tests of whichever driver links them.
        .target(
            name: "LogRecorder",
            dependencies: ["PushlineLogging", logging, nioConcurrency],
            path: "Tests/LogRecorder"
        ),
        .target(
            name: "StoreContract",
            dependencies: ["SeededRandom", "Store", "StoreKit", "PushModel", "Undisturbed", nioConcurrency],
            path: "Tests/StoreContract"
        ),
        // The store of a test that asks for none in particular: deploy/test says where.
        .target(
            name: "TestStores",
            dependencies: ["StorePostgreSQL", "StoreSQLite", "Store"],
            path: "Tests/TestStores"
        ),
        .testTarget(
            name: "StoreSQLiteTests",
            dependencies: [
                "FaultInjection", "LogRecorder", "SeededRandom", "StoreContract", "StoreSQLite", "StoreSQL", "StoreKit",
                "Store", "PushModel", "Undisturbed", grdb, logging, nioConcurrency,
            ]
        ),
        .testTarget(
            name: "StorePostgreSQLTests",
            dependencies: [
                "CPostgreSQL", "FaultInjection", "LogRecorder", "StoreContract", "StorePostgreSQL", "StoreSQL",
                "StoreKit", "Store", "PushModel", "Undisturbed", logging, nioConcurrency, nioCore, nioPosix, nioSSL,
            ]
        ),
        .testTarget(
            name: "FanOutTests",
            dependencies: [
                "Pipeline", "Hub", "Store", "StoreKit", "StoreSQL", "StoreSQLite", "Broker", "PushModel", "Undisturbed",
                logging,
                nioConcurrency,
            ]
        ),
        .testTarget(
            name: "PipelineTests",
            dependencies: [
                "Pipeline", "Outbox", "OutgoingHTTP", "Hub", "RawHTTP", "Store", "TestStores", "Broker",
                "PushServices", "BrokerRabbitMQ", "CRabbitMQ", "LogRecorder", "Payloads", "PushlineLogging",
                "PushlineSimulator", "PushlineTracing", "PushModel", "SeededRandom", "Settings", "Undisturbed",
                lifecycle, logging,
                nioConcurrency, tracing,
            ]
        ),
        // A user, by a name.
        .target(name: "Callers", dependencies: ["PushModel"], path: "Tests/Callers"),
        .testTarget(
            name: "WebServingTests",
            dependencies: [
                "WebServing", "Callers", "PushModel", "RawHTTP", "Settings", "Store", "Undisturbed", httpTypes,
                hummingbird,
                hummingbirdCore, logging, nioConcurrency, nioCore, nioEmbedded, nioHTTPTypes,
            ]
        ),
        .testTarget(
            name: "IntakeTests",
            dependencies: [
                "Intake", "Broker", "Callers", "PushModel", "Store", "StoreKit", "StoreSQL", "StoreSQLite",
                "Undisturbed", logging,
                nioConcurrency, nioCore,
            ]
        ),
        .testTarget(
            name: "HTTPAPITests",
            dependencies: [
                "AnswersLost", "HTTPAPI", "WebServing", "Intake", "Callers", "PushlineClient", "Authentication",
                "LogRecorder", "PushlineTracing", "TokenIssuer", "Store", "StoreSQLite", "Broker", "Payloads",
                "PushModel", "RawHTTP", "Settings", "WorkCost", "Undisturbed",
                httpTypes, hummingbird, hummingbirdCore, hummingbirdTesting, lifecycle, logging, nioConcurrency,
                nioCore,
                nioPosix, tracing, yams,
            ]
        ),
        .testTarget(
            name: "HubServerTests",
            dependencies: [
                "AnswersLost", "HubServer", "Hub", "HubAzure", "Pipeline", "WebServing", "Intake", "HubWire",
                "LogRecorder", "Store",
                "StoreSQLite", "Broker", "PushModel", "PushlineSimulator", "PushlineTracing", "RawHTTP", "Settings",
                "Undisturbed",
                httpTypes, hummingbird, hummingbirdCore,
                hummingbirdTesting, lifecycle, logging, nioCore, tracing,
            ]
        ),
        .testTarget(name: "PushlineClientTests", dependencies: ["PushlineClient", "Undisturbed"]),
        .testTarget(
            name: "PushlineCommandsTests",
            dependencies: [
                "PushlineCommands", "PushlineClient", "HubAzure", "HubWire", "PushModel", "PushServices",
                "PushlineSimulator", "Broker",
                "Installation", "RawHTTP", "Settings",
                "Store", "StoreKit", "StorePostgreSQL", "StoreSQL", "StoreSQLite", "Undisturbed",
                argumentParser, crypto, grdb, nioSSL,
            ]
        ),
        .testTarget(
            name: "InstallationTests",
            dependencies: ["BrokerRabbitMQ", "Installation", "Settings", "Store", "Undisturbed", logging]
        ),
        .testTarget(name: "SettingsTests", dependencies: ["Settings", "PushModel"]),
        .testTarget(
            name: "RuntimeTests",
            dependencies: [
                "Runtime", "Installation", "LogRecorder", "Settings", "WebServing", "PushModel", "PushlineLogging",
                "PushlineMetrics",
                "PushlineSimulator", "RawHTTP", "Undisturbed",
                crypto, hummingbird,
                hummingbirdCore, hummingbirdHTTP2, lifecycle, logging, metrics, nioConcurrency, nioCore, nioPosix,
                nioSSL,
                nioTLS,
            ]
        ),
        .target(
            name: "InstallationSupport",
            dependencies: [
                "BrokerRabbitMQ", "Authentication", "HubWire", "Installation", "Settings", "PushlineSimulator", "Store",
                "PushModel", "TestStores",
                logging, nioCore, nioPosix,
            ],
            path: "Tests/InstallationSupport"
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "Broker", "BrokerContract", "BrokerRabbitMQ", "HubWire", "InstallationSupport", "MessageSamples",
                "OutgoingHTTP", "Payloads",
                "PushlineSimulator", "PushlineMetrics", "TestStores",
                "RawHTTP", "PushModel", "Undisturbed", asyncHTTPClient, crypto, cryptoExtras, logging, nioConcurrency,
                nioCore,
                nioHTTP1,
            ]
        ),
        // What a hostile user, client or message may do to a running installation.
        .testTarget(
            name: "AbuseTests",
            dependencies: [
                "Broker", "BrokerRabbitMQ", "HubWire", "InstallationSupport", "PushModel", "PushlineSimulator",
                "RawHTTP",
                "Installation", "Undisturbed", nioCore, nioPosix,
            ],
            path: "Tests/Abuse"
        ),
    ],
    cLanguageStandard: .c2x
)

// The micro-benchmarks of `deploy/bench --micro`: ordinary builds do not pay for their packages.
if Context.environment["PUSHLINE_BENCHMARKS"] == "1" {
    package.dependencies.append(.package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []))
    package.targets += [
        .target(
            name: "HotPaths",
            dependencies: ["PushModel", "HTTP2Engine", "PushServices"],
            path: "Benchmarks/HotPaths"
        ),
        .executableTarget(name: "CountedPaths", dependencies: ["HotPaths"], path: "Benchmarks/CountedPaths"),
        .executableTarget(
            name: "ImportSpeed",
            dependencies: ["Installation", "PushModel", "Settings", "Store", lifecycle, logging],
            path: "Benchmarks/ImportSpeed"
        ),
        .executableTarget(
            name: "EncryptionSpeed",
            dependencies: ["PushModel", "PushServices", crypto],
            path: "Benchmarks/EncryptionSpeed"
        ),
        .executableTarget(
            name: "TimedPaths",
            dependencies: ["HotPaths", .product(name: "Benchmark", package: "benchmark")],
            path: "Benchmarks/TimedPaths",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        ),
    ]
}

// The scripts that only run the programs build them alone, without the tests' helpers.
if Context.environment["PUSHLINE_PROGRAMS"] == "1" {
    package.targets.removeAll { $0.isTest || $0.path?.hasPrefix("Tests/") == true }
}

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + swiftSettings
}
