package import PushModel

/// How the API listens, and its limits.
package struct APISettings: SettingsSection {
    @Setting(.text, "address to listen on") package var host = "127.0.0.1"
    @Setting(.port, "may be shared by APIs of one store; 0 = any free one") package var port = 8080
    @Setting(.path, "PEM file with the certificate chain; with a key, HTTPS with HTTP/1.1 and HTTP/2")
    package var certificateFile: String? = nil
    @Setting(.path, "PEM file with the certificate's private key") package var keyFile: String? = nil
    @Setting(.integer(1024...16_777_216), "bytes; the longest body of a request, sends and uploads apart (413)")
    package var bodySize = 65_536
    @Setting(
        .integer(1024...16_777_216),
        "bytes; the longest send, as a body or a line of many: room for 20,000 names or handles (413)"
    )
    package var sendSize = 8_388_608
    @Setting(.integer(1024...268_435_456), "bytes; the longest upload to /api/contents (413)")
    package var contentSize = 8_388_608
    @Setting(.integer(1024...1_048_576), "bytes; all headers of a request together") package var headerSize = 16_384
    @Setting(
        .seconds(1...3600),
        "seconds to send a request (large bodies get more), between two requests, and to read 32 KiB of a response"
    )
    package var requestTime = Duration.seconds(30)
    @Setting(
        .integer(16...1_000_000),
        "the most at a time; above it, connections without a request are closed; at most the descriptor limit - 200"
    )
    package var connections = 10_000
    @Setting(
        .integer(0...1_000_000),
        "the most from one address (IPv6: one /64); more are closed at once; 0 = no limit"
    )
    package var connectionsPerPeer = 2500
    @Setting(
        .integer(1...100_000),
        "requests in progress; one caller may have seven eighths; more are answered 503"
    )
    package var inFlight = 1024
    @Setting(
        .integer(1...1_000_000),
        "requests per second of one caller (account, token user or key), unless its app says otherwise (429)"
    )
    package var requestsPerSecond = 1000
    @Setting(
        .networks,
        "proxies whose X-Forwarded-For and X-Request-Id are trusted: addresses and networks (10.0.0.0/8), separated by commas"
    )
    package var trustedProxies = TrustedProxies.none
    @Setting(
        .seconds(0...60),
        "seconds to wait for the hub's answer; then a classic send is 200 all the same, a registration 503"
    )
    package var classicWait = Duration.seconds(10)
    @Setting(.flag, "serve the app's page at /app/ and /app/NAME/; false: 404") package var page = false
    @Setting(.integer(0...65_535), "port of the operators' console, with the same API; 0 = there is no console")
    package var consolePort = 0
    @Setting(.text, "address of the console; another than a loopback one needs certificate_file")
    package var consoleHost = "127.0.0.1"
    @Setting(.seconds(1...31_536_000), "seconds that a sign-in on the page or the console lasts at most")
    package var sessionLifetime = Duration.seconds(2_592_000)
    @Setting(.seconds(1...31_536_000), "seconds that it lasts without use")
    package var sessionIdle = Duration.seconds(604_800)

    package init() {}

    package var fault: SettingFault? { CertificatePair.fault(self.certificateFile, self.keyFile) }
}
