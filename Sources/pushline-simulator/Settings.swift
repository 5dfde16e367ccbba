import ArgumentParser
import Foundation
import PushlineSimulator
import Yams

/// Options, then environment, then file, then defaults.
struct Settings {
    var simulator: SimulatorConfiguration
    var stateFile: String?

    /// The file's section `simulator`; other sections are other programs' own.
    private struct Section {
        /// As it was given, or found.
        let file: String
        var texts: [String: String] = [:]
        var numbers: [String: Int] = [:]

        private static let textKeys: Set<String> = ["folder", "state", "ports"]
        private static let numberKeys: Set<String> = ["control_port", "keep"]

        init(file: String?) throws {
            let path = file ?? "Config/pushline.yaml"
            self.file = path
            if file == nil, !FileManager.default.fileExists(atPath: path) { return }
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                throw ValidationError("\(path) cannot be read")
            }
            guard let section = (try Yams.load(yaml: text) as? [String: Any])?["simulator"] else { return }
            guard let members = section as? [String: Any] else {
                throw ValidationError("\(path): simulator is not a mapping")
            }
            for (key, value) in members {
                if Self.textKeys.contains(key), let text = value as? String {
                    self.texts[key] = text
                } else if Self.numberKeys.contains(key), let number = value as? Int {
                    self.numbers[key] = number
                } else if Self.textKeys.contains(key) || Self.numberKeys.contains(key) {
                    throw ValidationError("\(path): simulator.\(key) is of a wrong type")
                } else {
                    throw ValidationError("\(path): simulator.\(key) is unknown")
                }
            }
        }
    }

    private let section: Section
    private let environment: [String: String]

    init(command: Main, environment: [String: String]) throws {
        self.environment = environment
        self.section = try Section(file: command.config)
        self.simulator = SimulatorConfiguration()
        if let ports = self.text(command.ports, "ports") {
            do {
                self.simulator.ports = try SimulatorConfiguration.ports(ports)
            } catch {
                throw ValidationError("ports: \(error)")
            }
        }
        self.simulator.controlPort = try self.number(command.controlPort, "control_port", within: 0...65_535) ?? 0
        if let keep = try self.number(command.keep, "keep", within: 0...10_000_000) {
            self.simulator.keepReceived = keep
        }
        self.simulator.folder = self.path(command.folder, "folder").map(Self.absolute)
        self.stateFile = self.path(command.state, "state")
    }

    /// A path: one of the file is relative to the file's folder.
    private func path(_ option: String?, _ key: String) -> String? {
        let text = self.text(option, key)
        guard let text, !text.hasPrefix("/"), option == nil, self.environment[Self.variable(key)] == nil else {
            return text
        }
        let folder = URL(fileURLWithPath: self.section.file).absoluteURL.deletingLastPathComponent()
        return folder.appendingPathComponent(text).standardizedFileURL.path
    }

    /// An empty value counts as absent, so that the file can show its keys.
    private func text(_ option: String?, _ key: String) -> String? {
        let text = option ?? self.environment[Self.variable(key)] ?? self.section.texts[key] ?? ""
        return text.isEmpty ? nil : text
    }

    private func number(_ option: Int?, _ key: String, within range: ClosedRange<Int>) throws -> Int? {
        let place: String
        let number: Int?
        if let option {
            (place, number) = ("--" + key.replacing("_", with: "-"), option)
        } else if let text = self.environment[Self.variable(key)] {
            (place, number) = ("environment: " + Self.variable(key), Int(text))
        } else if let value = self.section.numbers[key] {
            (place, number) = ("\(self.section.file): simulator.\(key)", value)
        } else {
            return nil
        }
        guard let number, range.contains(number) else {
            throw ValidationError("\(place) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func variable(_ key: String) -> String {
        "PUSHLINE_SIMULATOR_" + key.uppercased()
    }

    /// The apps file names paths that others read from wherever they are.
    private static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.path
    }
}
