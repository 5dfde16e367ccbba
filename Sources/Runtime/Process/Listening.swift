import Foundation
import NIOCore
import ServiceLifecycle

/// A server whose failure to listen is told with the keys that say where.
struct Listening: Service {
    let server: any Service
    /// As in the configuration: `api.host and api.port`.
    let keys: String
    let address: String

    func run() async throws {
        do {
            try await self.server.run()
        } catch let error as IOError {
            throw ConfigurationError("\(self.keys): cannot listen on \(self.address): \(error.reason)")
        }
    }
}

extension IOError {
    /// What the system calls the error, without the call that met it.
    fileprivate var reason: String {
        switch self.errnoCode {
        case EADDRINUSE: "another process does"
        case EADDRNOTAVAIL: "it is no address of this host"
        case EACCES: "only root may (a port below 1024)"
        default: self.description
        }
    }
}
