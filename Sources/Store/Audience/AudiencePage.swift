package import PushModel

/// A piece of an audience.
package struct AudiencePage: Sendable {
    package var rows: [Int64]
    /// In the order of ``rows``.
    package var handles: HandleList
    /// In the order of ``rows``.
    package var credentials = DeviceCredentials()
    /// The numbers of their templates, in the order of ``rows``; empty = they are for native notifications, or were asked for by row.
    package var templates: [Int64] = []
    /// The templates by their numbers; one that was removed meanwhile is missing, and so are those that a query was for.
    package var contents: [Int64: DeviceTemplate.Content] = [:]
    /// All of the audience up to this row is in the page, or was in one before: the next page begins after it.
    ///
    /// It is `through` itself when nothing is left.
    package var scannedThrough: Int64

    package init(rows: [Int64] = [], handles: HandleList = HandleList(), scannedThrough: Int64) {
        self.rows = rows
        self.handles = handles
        self.scannedThrough = scannedThrough
    }

    /// Its first devices.
    package func prefix(_ count: Int) -> AudiencePage {
        guard count < self.rows.count, count > 0 else { return self }
        var first = AudiencePage(
            rows: Array(self.rows[..<count]),
            handles: self.handles[0..<count],
            scannedThrough: self.rows[count - 1]
        )
        first.credentials = self.credentials[0..<count]
        first.templates = Array(self.templates.prefix(count))
        first.contents = self.contents
        return first
    }

    /// Its first devices, so many that they have so many templates at most.
    package func prefix(templates most: Int) -> AudiencePage {
        var templates: Set<Int64> = []
        for (index, template) in self.templates.enumerated() where templates.insert(template).inserted {
            if templates.count > most { return self.prefix(index) }
        }
        return self
    }

    /// Adds the piece of the audience that is behind it.
    package mutating func append(_ next: AudiencePage) {
        for index in next.rows.indices {
            self.credentials.append(next.credentials[index], at: self.rows.count)
            self.rows.append(next.rows[index])
            self.handles.append(next.handles[index])
        }
        self.templates += next.templates
        self.contents.merge(next.contents) { $1 }
        self.scannedThrough = next.scannedThrough
    }

    /// Its devices with a template.
    package func only(_ template: Int64) -> AudiencePage {
        var found = AudiencePage(scannedThrough: self.scannedThrough)
        for index in self.rows.indices where self.templates[index] == template {
            found.credentials.append(self.credentials[index], at: found.rows.count)
            found.rows.append(self.rows[index])
            found.handles.append(self.handles[index])
            found.templates.append(template)
        }
        return found
    }

    /// Its devices by their rows.
    package var addresses: [Int64: DeviceAddress] {
        var found: [Int64: DeviceAddress] = [:]
        found.reserveCapacity(self.rows.count)
        for (index, row) in self.rows.enumerated() {
            found[row] = DeviceAddress(handle: self.handles.handle(at: index), credential: self.credentials[index])
        }
        return found
    }
}

/// Where a device is reached, and with which of the app's credentials.
package struct DeviceAddress: Sendable, Equatable {
    package let handle: Handle
    package let credential: CredentialName

    package init(handle: Handle, credential: CredentialName = .default) {
        self.handle = handle
        self.credential = credential
    }
}

/// The size of a piece of an audience.
package struct AudienceCount: Sendable, Equatable {
    package var count: Int
    /// The piece ends here, as in ``AudiencePage/scannedThrough``.
    package var scannedThrough: Int64

    package init(count: Int, scannedThrough: Int64) {
        self.count = count
        self.scannedThrough = scannedThrough
    }
}
