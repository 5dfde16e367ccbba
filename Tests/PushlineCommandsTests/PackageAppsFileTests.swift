import Foundation
import PushModel
import Settings
import Testing

@testable import PushlineCommands

/// The `apps.yaml` that the package installs.
@Suite struct PackageAppsFileTests {
    private static func text() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "deploy/debian/apps.yaml"), encoding: .utf8)
    }

    private static func apps(_ text: String) throws -> [AppID: AppSpec] {
        try AppsFile(YAMLFile.parse(text, file: "apps.yaml", folder: URL(filePath: "/etc/pushline/"))).apps
    }

    /// Whoever declares it by mistake, such as at the end of a trial, sends nobody anything with credentials that there are not.
    @Test func asItComesItSendsNowhere() throws {
        #expect(try Self.apps(Self.text()) == [.default: AppSpec { _ in }])
    }

    @Test func withoutItsNumberSignsItIsWhatItShows() throws {
        let shown = try Self.text().replacing(#/(?m)^ {4}# /#, with: "    ")
        let app = try #require(try Self.apps(shown)[.default])
        #expect(Set(app.services) == Set(PushService.inService))
        #expect(app.apns?.keyFile == "/etc/pushline/secrets/AuthKey_ABC1234567.p8")
    }
}
