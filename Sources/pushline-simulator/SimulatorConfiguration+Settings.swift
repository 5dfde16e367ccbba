import Foundation
import PushlineSimulator
import Settings

extension SimulatorConfiguration {
    /// What the options, the environment and the file's section `simulator` say; paths are absolute, for the apps file names some that
    /// others read from wherever they are.
    init(_ settings: SimulatorSettings) throws {
        self.init()
        do { self.ports = try Self.ports(settings.ports ?? "") } catch {
            throw ConfigurationError("simulator.ports: \(error)")
        }
        self.controlPort = settings.controlPort
        self.keepReceived = settings.keep
        self.folder = settings.folder.map { URL(filePath: $0).standardizedFileURL.path(percentEncoded: false) }
    }
}
