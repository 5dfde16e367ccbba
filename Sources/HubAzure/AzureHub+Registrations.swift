package import HubWire
import NIOHTTP1
import PushModel

/// Which registrations a list has.
package enum AzureSelection: Sendable, Equatable {
    case all
    /// Those of a tag, which takes the right Manage.
    case tag(String)
    /// Those of a device: the parts of its handle, as ``HubWire/WirePlatform/handleElements`` names them.
    case handle(WirePlatform, [String])
}

extension AzureHub {
    /// The most registrations of a page.
    package static let maximumPage = 100

    /// Asks for an id for a registration.
    ///
    /// - Throws: ``AzureHubError``.
    package func createRegistrationID() async throws(AzureHubError) -> String {
        let answer = try await self.transport.call(AzureRequest(.POST, "registrationids"))
        guard let id = Self.id(ofLocationIn: answer) else {
            throw AzureHubError(
                .unanswered,
                "the hub gave no registration id: its answer has no Location",
                status: answer.status,
                trackingID: answer.trackingID
            )
        }
        return id
    }

    /// Creates or replaces a registration.
    ///
    /// - Parameters:
    ///   - registration: What it is to be, with its id.
    ///   - etag: Replace it only where it has this; `*` = whatever it has; nil = create it where it is not there.
    /// - Returns: The registration as the hub has it.
    /// - Throws: ``AzureHubError``: `gone` for an id that has retired, `preconditionFailed` for another etag.
    @discardableResult
    package func put(
        _ registration: WireRegistration,
        ifMatch etag: String? = nil
    ) async throws(AzureHubError) -> WireRegistration {
        guard let id = registration.id, !id.isEmpty else {
            throw AzureHubError(.refused, "the registration has no id; ask for one first")
        }
        var request = AzureRequest(.PUT, "registrations", PercentCoding.encode(id))
        request.headers = [("Content-Type", WireNames.entryBody)] + Self.condition(etag)
        request.body = registration.requestEntry
        return try await self.transport.call(request).read(WireRegistration.init(reading:))
    }

    /// Reads a registration.
    ///
    /// - Returns: nil if there is none.
    /// - Throws: ``AzureHubError``.
    package func registration(_ id: String) async throws(AzureHubError) -> WireRegistration? {
        let request = AzureRequest(.GET, "registrations", PercentCoding.encode(id))
        let answer = try await self.transport.call(request, expecting: [404])
        return answer.status == 404 ? nil : try answer.read(WireRegistration.init(reading:))
    }

    /// A page of registrations.
    ///
    /// - Parameters:
    ///   - selection: Which.
    ///   - top: How many at most, up to ``maximumPage``.
    ///   - continuation: What the page before says.
    /// - Returns: The page.
    /// - Throws: ``AzureHubError``.
    package func registrations(
        _ selection: AzureSelection = .all,
        top: Int = Self.maximumPage,
        continuation: String? = nil
    ) async throws(AzureHubError) -> AzurePage<WireRegistration> {
        var request: AzureRequest
        switch selection {
        case .all: request = AzureRequest(.GET, "registrations")
        case .tag(let tag): request = AzureRequest(.GET, "tags", PercentCoding.encode(tag), "registrations")
        case .handle(let platform, let parts):
            request = AzureRequest(.GET, "registrations")
            request.query = [("$filter", PercentCoding.encode(HandleFilter.text(platform, parts)))]
        }
        request.query.append(("$top", String(min(max(1, top), Self.maximumPage))))
        if let continuation { request.query.append(("continuationtoken", continuation)) }
        request.longestAnswer = 8 << 20
        let answer = try await self.transport.call(request)
        let (items, unreadable) = try answer.read(WireFeed.registrations(reading:))
        let next = try Self.continuation(of: answer)
        // Otherwise a list would never end.
        guard next == nil || next != continuation else {
            throw AzureHubError(
                .refused,
                "the hub names the page that it gave as the next one",
                status: answer.status,
                trackingID: answer.trackingID
            )
        }
        return AzurePage(items: items, unreadable: unreadable, continuation: next)
    }

    /// Deletes a registration; one that is not there is no error.
    ///
    /// - Parameters:
    ///   - id: Its id.
    ///   - etag: Delete it only where it has this; `*` = whatever it has.
    /// - Throws: ``AzureHubError``.
    package func deleteRegistration(_ id: String, ifMatch etag: String = "*") async throws(AzureHubError) {
        var request = AzureRequest(.DELETE, "registrations", PercentCoding.encode(id))
        request.headers = Self.condition(etag)
        _ = try await self.transport.call(request, expecting: [404])
    }

    private static func condition(_ etag: String?) -> [(name: String, value: String)] {
        guard let etag else { return [] }
        return [("If-Match", etag == "*" ? etag : "W/\"\(etag)\"")]
    }

    /// The last part of the path of `Location`.
    static func id(ofLocationIn answer: AzureAnswer) -> String? {
        guard let location = answer.headers.first(name: "Location"), location.utf8.count <= 2000,
            let part = location.prefix(while: { $0 != "?" && $0 != "#" }).split(separator: "/").last
        else { return nil }
        return PercentCoding.decode(part, plusIsSpace: false).flatMap(AzureTransport.identifier)
    }

    /// A token for the next page, in the form in which it stands in an address: Azure's own is encoded already.
    private static func continuation(of answer: AzureAnswer) throws(AzureHubError) -> String? {
        guard let text = answer.headers.first(name: WireNames.continuation), !text.isEmpty else { return nil }
        // Without it the list would seem to end here.
        guard text.utf8.count <= 4096 else {
            throw AzureHubError(
                .unanswered,
                "the hub's token for the next page is longer than 4096 bytes",
                status: answer.status,
                trackingID: answer.trackingID
            )
        }
        let isWritten = text.wholeMatch(of: /(?:[A-Za-z0-9._~\-]|%[0-9A-Fa-f]{2})+/) != nil
        return isWritten ? text : PercentCoding.encode(text)
    }
}
