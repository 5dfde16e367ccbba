package import PushModel

extension WireRegistration {
    /// Where and when an entry was.
    package struct Place: Sendable {
        /// The address of the registration or list.
        package let address: String
        package let updated: Timestamp

        package init(address: String, updated: Timestamp) {
            self.address = address
            self.updated = updated
        }
    }

    /// The Atom entry, as a document of its own.
    package func entry(_ place: Place) -> [UInt8] { self.entryTree(place, isRoot: true).bytes }

    /// The Atom entry of a request: without what the hub decides or its path says.
    package var requestEntry: [UInt8] {
        var plain = self
        (plain.id, plain.etag, plain.expirationTime) = (nil, nil, nil)
        return XMLTree(
            "entry",
            attributes: [.init("xmlns", WireNames.atom)],
            elements: [
                XMLTree("content", attributes: [.init("type", "application/xml")], elements: [plain.description])
            ]
        ).bytes
    }

    /// The description, in the order of its elements that clients of .NET rely on.
    package var description: XMLTree {
        let common = [
            self.etag.map { XMLTree("ETag", text: $0) },
            self.expirationTime.map { XMLTree("ExpirationTime", text: $0) },
            self.id.map { XMLTree("RegistrationId", text: $0) },
            self.tags.isEmpty ? nil : XMLTree("Tags", text: self.tags.joined(separator: ",")),
            self.pushVariables.map { XMLTree("PushVariables", text: $0) },
        ]
        let handle = zip(self.platform.handleElements, self.handle).map { name, part in
            part.isEmpty ? nil : XMLTree(name, text: part)
        }
        let tile = self.template == nil ? self.secondaryTileName.map { XMLTree("SecondaryTileName", text: $0) } : nil
        return XMLTree(
            self.descriptionName,
            attributes: [.init("xmlns", WireNames.connect), .init("xmlns:i", WireNames.instance)],
            elements: common + handle + [tile] + self.templateElements
        )
    }

    private var templateElements: [XMLTree?] {
        guard let template = self.template else { return [] }
        let body = XMLTree("BodyTemplate", [.section(template.body)])
        let name = template.name.map { XMLTree("TemplateName", text: $0) }
        let headers = self.platform.headersElement.map { names in
            XMLTree(
                names.list,
                elements: template.headers.map { header in
                    XMLTree(
                        names.item,
                        elements: [XMLTree("Header", text: header.name), XMLTree("Value", text: header.value)]
                    )
                }
            )
        }
        switch self.platform {
        case .apple:
            // Without one the original says so, and has an empty list of headers.
            let expiry =
                template.expiry.map { XMLTree("Expiry", text: $0) }
                ?? XMLTree("Expiry", attributes: [.init("i:nil", "true")])
            return [body, expiry, name, template.priority.map { XMLTree("Priority", text: $0) }, headers]
        case .windows, .windowsPhone: return [body, headers, name]
        case .baidu: return [body, name, template.messageType.map { XMLTree("MessageType", text: $0) }]
        case .fcmV1, .gcm, .adm, .browser, .xiaomi: return [body, name]
        }
    }

    fileprivate func entryTree(_ place: Place, isRoot: Bool) -> XMLTree {
        var attributes: [XMLTree.Attribute] = []
        if let etag = self.etag { attributes.append(.init("a:etag", "W/\"\(etag)\"")) }
        if isRoot {
            attributes.append(.init("xmlns", WireNames.atom))
            attributes.append(.init("xmlns:a", WireNames.metadata))
        }
        let time = place.updated.iso8601
        return XMLTree(
            "entry",
            attributes: attributes,
            elements: [
                XMLTree("id", text: place.address),
                XMLTree("title", attributes: [.init("type", "text")], text: self.id ?? ""),
                XMLTree("published", text: time), XMLTree("updated", text: time),
                WireFeed.link("self", place.address),
                XMLTree(
                    "content",
                    attributes: [.init("type", "application/xml")],
                    elements: [self.description]
                ),
            ]
        )
    }
}

/// A list, as an Atom feed.
package struct WireFeed: Sendable {
    package let title: String
    package let address: String
    /// The address of the next page; nil = there is none.
    package let next: String?
    package let updated: Timestamp

    package init(title: String, address: String, next: String? = nil, updated: Timestamp) {
        self.title = title
        self.address = address
        self.next = next
        self.updated = updated
    }

    /// The feed of these registrations, with the address and time of each.
    package func bytes(_ entries: [(registration: WireRegistration, place: WireRegistration.Place)] = []) -> [UInt8] {
        XMLTree(
            "feed",
            attributes: [.init("xmlns", WireNames.atom), .init("xmlns:a", WireNames.metadata)],
            elements: [
                XMLTree("title", attributes: [.init("type", "text")], text: self.title),
                XMLTree("id", text: self.address), XMLTree("updated", text: self.updated.iso8601),
                Self.link("self", self.address), self.next.map { Self.link("next", $0) },
            ] + entries.map { $0.registration.entryTree($0.place, isRoot: false) }
        ).bytes
    }

    static func link(_ relation: String, _ address: String) -> XMLTree {
        XMLTree("link", attributes: [.init("rel", relation), .init("href", address)])
    }
}
