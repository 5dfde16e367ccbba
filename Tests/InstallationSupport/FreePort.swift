import NIOCore
import NIOPosix
import Synchronization

/// A port of 127.0.0.1 that nobody listens on.
///
/// It lies below the ports that the system gives to whoever asks for any (from 32768 on Linux): a worker that listens on one
/// of those, or a client's connection, would else take it before the program that it is meant for has started.
package enum FreePort {
    private static let range = 12_000..<32_000
    /// Numbers given so far, so that suites side by side get different ones.
    private static let given = Mutex<Set<Int>>([])

    /// - Throws: What the last of a hundred ports answered.
    package static func find() async throws -> Int {
        var attempt = 0
        while true {
            let port = Int.random(in: Self.range)
            guard Self.given.withLock({ $0.insert(port).inserted }) else { continue }
            attempt += 1
            do {
                let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .bind(host: "127.0.0.1", port: port).get()
                try await channel.close()
                return port
            } catch  where attempt < 100 {
                continue
            }
        }
    }
}
