import Foundation
import ServiceLifecycle
import Testing
import Undisturbed

@testable import Runtime

/// What systemd is told, over a socket of the test's own.
@Suite(.serialized, .undisturbed) struct ServiceManagerTests {
    /// A datagram socket, as systemd has one.
    private final class Manager {
        let path: String
        private let descriptor: Int32

        init() throws {
            self.path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
            self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(self.path.utf8)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
            let bound = unsafe withUnsafePointer(to: address) { address in
                unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(bound == 0)
            var time = timeval(tv_sec: 10, tv_usec: 0)
            unsafe setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        }

        deinit {
            close(self.descriptor)
            unsafe unlink(self.path)
        }

        /// The next message; nil after ten seconds without one.
        func next() -> String? {
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = unsafe recv(self.descriptor, &bytes, bytes.count, 0)
            return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }

    @Test func itIsToldWhenTheProcessServes() throws {
        let manager = try Manager()
        ServiceManager(["NOTIFY_SOCKET": manager.path]).ready()
        #expect(manager.next() == "READY=1")
    }

    @Test func itIsToldThatTheProcessIsAliveUntilItEnds() async throws {
        let manager = try Manager()
        let told = ServiceManager([
            "NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000", "WATCHDOG_PID": "\(getpid())",
        ])
        let work = Task { try await told.run() }
        for _ in 0..<3 { #expect(manager.next() == "WATCHDOG=1") }
        work.cancel()
        try await work.value
    }

    @Test func aWatchdogOfAnotherProcessIsNotFed() async throws {
        let manager = try Manager()
        let told = ServiceManager(["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"])
        let work = Task { try await told.run() }
        try await Task.sleep(for: .milliseconds(50))
        told.ready()
        #expect(manager.next() == "READY=1")
        work.cancel()
        try await work.value
    }

    @Test func withoutAManagerNobodyIsTold() async throws {
        let work = Task { try await ServiceManager([:]).run() }
        ServiceManager([:]).ready()
        work.cancel()
        try await work.value
    }
}
