import ArgumentParser
import Foundation
import NIOSSL
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

@testable import PushlineClient
@testable import PushlineCommands

/// How the command line reaches a server.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct ServerTransportTests {
    /// A client as the options make it, for a server that is not a Pushline server but speaks TLS.
    private static func client(_ url: String, _ arguments: [String], environment: [String: String] = [:]) throws
        -> PushlineClient
    {
        let options = try ServerOptions.parse(["--url", url, "--key", "plk_x"] + arguments)
        return try options.client(environment: environment)
    }

    /// What comes of a call there.
    private static func failure(_ url: String, _ arguments: [String] = []) async throws -> PushlineError? {
        let client = try Self.client(url, arguments)
        return await #expect(throws: PushlineError.self) { _ = try await client.queues() }
    }

    @Test func aPrivateAuthorityIsTrustedWhenNamed() async throws {
        try await withSimulator { simulator in
            let url = try simulator.urls.fcm
            let file = try simulator.credentials.trustFile
            // It answers, though as Google: the certificate was accepted.
            let answered = try await Self.failure(url, ["--ca-file", file])
            #expect(answered?.status == 404)
            let client = try Self.client(url, [], environment: ["PUSHLINE_CA_FILE": file])
            let named = await #expect(throws: PushlineError.self) { _ = try await client.queues() }
            #expect(named?.status == 404)
            let refused = try #require(try await Self.failure(url))
            #expect(refused.code == .untrusted)
            #expect(
                Rejection(error: refused).text == """
                    the certificate of \(url) is not accepted: its authority is not trusted here, or it has expired; \
                    name your authority's certificate with --ca-file or PUSHLINE_CA_FILE, or correct --url
                    """
            )
        }
    }

    @Test func anExpiredCertificateIsRefused() async throws {
        try await withSimulator { simulator in
            simulator.inject(SimulatorFault(.expiredCertificate, pns: .fcm))
            let file = try simulator.credentials.trustFile
            let error = try await Self.failure(try simulator.urls.fcm, ["--ca-file", file])
            #expect(error?.code == .untrusted)
        }
    }

    @Test func aServerWithoutTLSIsReported() async throws {
        try await withSimulator { simulator in
            let control = try simulator.urls.control
            let error = try #require(
                try await Self.failure(control.replacingOccurrences(of: "http://", with: "https://"))
            )
            #expect(error.code == .unexpectedAnswer)
            #expect(
                Rejection(error: error).text.hasSuffix("does not speak TLS (is its address \(control)?)"),
                "\(error)"
            )
        }
    }

    @Test func aRefusedConnectionIsReportedAtOnce() async throws {
        let start = ContinuousClock.now
        // Nobody may listen on port 1 but the superuser.
        let error = try #require(try await Self.failure("http://127.0.0.1:1"))
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(error.code == .unreachable)
        #expect(error.message == "no connection to http://127.0.0.1:1: connection refused")
    }

    @Test func aHostNameWithoutAddressIsReported() async throws {
        let error = try #require(try await Self.failure("http://pushline.invalid"))
        #expect(error.code == .unreachable)
        #expect(error.message == "no connection to http://pushline.invalid: the name pushline.invalid has no address")
    }

    @Test func aSilentServerTimesOutAsConfigured() async throws {
        try await withSimulator { simulator in
            simulator.inject(SimulatorFault(.mute, pns: .fcm))
            let file = try simulator.credentials.trustFile
            let error = try #require(
                try await Self.failure(try simulator.urls.fcm, ["--ca-file", file, "--timeout", "1"])
            )
            #expect(error.code == .timeout)
            #expect(
                Rejection(error: error).text.hasSuffix(
                    "; allow more time with --timeout, or check what the server is busy with"
                )
            )
        }
    }

    @Test func aCertificateForAnotherNameIsReported() throws {
        let url = try #require(URL(string: "https://push.example:8443/api/queues"))
        let error = ConnectionFailure.explained(NIOSSLExtraError.failedToValidateHostname, url: url)
        #expect(
            error as? PushlineError
                == PushlineError(.untrusted, "the certificate of https://push.example:8443 is not for push.example")
        )
    }

    @Test func aFileWithoutCertificatesIsRefusedBeforeTheCall() throws {
        let missing = #expect(throws: CommandFailure.self) {
            try Self.client("https://h", ["--ca-file", "/nowhere/ca.pem"])
        }
        #expect(missing?.message == "--ca-file: /nowhere/ca.pem cannot be read: No such file or directory")
        let path = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString).pem").path
        try Data("no certificate".utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let empty = #expect(throws: CommandFailure.self) {
            try Self.client("https://h", [], environment: ["PUSHLINE_CA_FILE": path])
        }
        #expect(empty?.message.hasPrefix("PUSHLINE_CA_FILE: \(path) has no certificate in PEM") == true)
    }

    @Test(arguments: ["0", "-1", "3601", "x"]) func invalidTimeoutsAreRefused(text: String) {
        #expect(throws: (any Error).self) { try ServerOptions.parse(["--timeout=\(text)"]) }
    }
}
