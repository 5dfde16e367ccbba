extension AppSpec {
    /// An app's hub at Azure Notification Hubs, or at anything that speaks its wire.
    ///
    /// Such an app has no credentials for push services: the hub has them.
    package struct AzureHub: SettingsSection, Equatable {
        @Setting(
            required: .path,
            "file that holds the connection string of a rule with all three rights, and nothing else",
            example: "secrets/hub-connection"
        )
        package var connectionStringFile: String
        @Setting(required: .text, "the hub's name", example: "shop") package var name: String
        @Setting(.platforms, "the services of a send that names none: one call to the hub for each")
        package var platforms = Self.offered
        @Setting(.path, "certificates to trust at the hub in place of the system's, PEM", example: "secrets/hub.pem")
        package var trustFile: String? = nil

        /// The services that a hub of Azure and we know.
        package static let offered: [PushService] = [.apns, .fcm, .wns]

        package init() {}
    }
}

extension SettingKind where Value == [PushService] {
    /// Services of an Azure hub, in the order of ``AppSpec/AzureHub/offered``.
    fileprivate static var platforms: Self {
        let offered = AppSpec.AzureHub.offered
        let list = Self.list(
            of: SettingKind<PushService>(
                "one of \(PushService.list(offered))",
                written: { .string($0.rawValue) },
                parse: { PushService(platformName: $0.text).flatMap { offered.contains($0) ? $0 : nil } }
            )
        )
        return Self(
            expectation: list.expectation,
            read: { node throws(SettingFault) in
                guard let named = try list.read(node), !named.isEmpty else { return nil }
                return offered.filter(named.contains)
            },
            written: list.written
        )
    }
}

extension SettingKind where Value == AppSpec.AzureHub? {
    private static var azure: String { "azure" }

    /// `embedded`, or a section `azure`.
    static var hub: Self {
        Self(
            expectation: "embedded, or a section azure",
            read: { node throws(SettingFault) in
                if case .scalar(let scalar) = node.content { return scalar.text == "embedded" ? .some(nil) : nil }
                for entry in try node.entries where entry.key != Self.azure {
                    throw SettingFault.unknown(entry, among: [Self.azure])
                }
                guard let section = node[Self.azure] else {
                    throw SettingFault("is missing", at: node.place, path: Self.azure)
                }
                let hub = AppSpec.AzureHub()
                do throws(SettingFault) { try hub.take(section) } catch { throw error.within(Self.azure) }
                return hub
            },
            written: { $0.map { .object([JSONValue.Member(Self.azure, $0.written)]) } ?? .string("embedded") },
            sections: { $0.map { [SettingPart($0, at: [Self.azure])] } ?? [] },
            outline: { SettingPart(AppSpec.AzureHub(), at: [Self.azure]) }
        )
    }
}
