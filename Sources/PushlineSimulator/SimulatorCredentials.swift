import Foundation
import PushModel

/// The credentials an app needs to send to a simulator: values, and files with secrets.
///
/// Each service's folder adds its own.
package struct SimulatorCredentials: Sendable {
    /// The folder that holds all the files.
    package let folder: String
    /// The app's bundle id.
    let topic: String
    let keys: KeyMaterial

    init(folder: String, keys: KeyMaterial, topic: String) {
        self.folder = folder
        self.keys = keys
        self.topic = topic
    }

    /// The authority to trust, PEM.
    package var trustFile: String { self.folder + "/ca.pem" }
    package var trustPEM: String { self.keys.authorityPEM }
    /// An app file for `pushline apps apply`, naming the files.
    package var appsFile: String { self.folder + "/apps.yaml" }

    /// Writes the files, readable only by their owner.
    func write(urls: SimulatorURLs) throws {
        let files = FileManager.default
        try files.createDirectory(
            atPath: self.folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        try self.write(String(decoding: self.keys.saved(), as: UTF8.self), to: self.folder + "/keys.json")
        try self.write(self.trustPEM, to: self.trustFile)
        for simulated in SimulatedService.all {
            for file in try simulated.files(self, urls) { try self.write(file.text, to: file.path) }
        }
        try self.write(self.apps(urls: urls), to: self.appsFile)
    }

    private func write(_ text: String, to path: String) throws {
        // Beside and renamed, so that a reader who watches the file never sees half of it.
        let fresh = path + ".new"
        let files = FileManager.default
        if files.fileExists(atPath: fresh) { try files.removeItem(atPath: fresh) }
        guard files.createFile(atPath: fresh, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]) else {
            throw SimulatorError("cannot write \(path)")
        }
        if files.fileExists(atPath: path) { try files.removeItem(atPath: path) }
        try files.moveItem(atPath: fresh, toPath: path)
    }

    private func apps(urls: SimulatorURLs) -> String {
        var lines = [
            "# Written by pushline-simulator at its start: an app whose every push goes to it.", "apps:", "  default:",
        ]
        for simulated in SimulatedService.all {
            lines.append("    \(simulated.service.rawValue):")
            // JSON is YAML.
            for key in simulated.declaration(self, urls).keys {
                if let value = key.setting.written { lines.append("      \(key.name): \(value.compactText)") }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
