import HTTPTypes
import Hummingbird
import Intake
import NIOCore
import PushModel
import Store
import WebServing

/// Registering a device, as existing apps do it.
struct ClassicRegistrationRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.post, "/api/register", body: .limited, isClassic: true, handler: self.issue),
            Route(.put, "/api/register/{id}", body: .limited, isClassic: true, handler: self.upsert),
            Route(.delete, "/api/register/{id}", isClassic: true, handler: self.delete),
        ]
    }

    /// Hands an id out: the one that has the handle, or a new one.
    private func issue(_ request: APIRequest) async throws -> Response {
        let user = try request.caller.requireUser()
        let handles = try Self.lookupForms(request.query.tolerant("handle"))
        let answer = try await self.take(.issue(candidate: .random(), handles: handles), user: user, request: request)
        return try await self.response(to: answer, request: request) { result in
            guard case .issued(let id) = result else { return nil }
            // Existing apps strip the first and the last character: nothing may follow the quote.
            return Response(
                status: .ok,
                headers: [.contentType: "application/json; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONValue.string(id.text).bytes))
            )
        }
    }

    private func upsert(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        let user = try caller.requireUser()
        let members = try TolerantMembers(request.anyJSON())
        guard let platform = try members.string("Platform") else { throw Problem.invalid("Platform", "is required") }
        guard let pns = PushService(platformName: platform) else {
            throw Problem.invalid([PushService.unknown(platform, otherNames: true).named("Platform")])
        }
        guard let text = try members.string("Handle") else { throw Problem.invalid("Handle", "is required") }
        let handle: Handle
        do {
            handle = try request.spec.handle(text, of: pns)
        } catch {
            throw Problem.invalid([error.named("Handle")])
        }
        let credential: CredentialName
        do { credential = try request.spec.credential(try members.string("Credential"), of: pns) } catch let error
            as InvalidValue
        {
            throw Problem.invalid([error.named("Credential")])
        }
        let tags = try RegistrationTags.read(members["Tags"], member: "Tags", request.spec)
        try TagPolicy(request.spec).check(tags, claimedBy: user)
        // Tags come before ownership: only now may the id matter.
        guard let id = request.parameters["id"].flatMap(RegistrationID.init) else {
            throw Problem.notFound("no such registration")
        }
        let upsert = RegisterRequest.Upsert(pns: pns, handle: handle, credential: credential, tags: tags)
        let answer = try await self.take(.upsert(id, upsert), user: user, request: request)
        return try await self.response(to: answer, request: request) { result in
            switch result {
            case .done, .superseded, .issued: Response(status: .ok)
            default: nil
            }
        }
    }

    private func delete(_ request: APIRequest) async throws -> Response {
        let user = try request.caller.requireUser()
        guard let id = request.parameters["id"].flatMap(RegistrationID.init) else {
            throw Problem.notFound("no such registration")
        }
        let answer = try await self.take(.delete(id), user: user, request: request)
        return try await self.response(to: answer, request: request) { result in
            switch result {
            // The id is gone, as requested.
            case .done, .superseded, .gone, .issued: Response(status: .ok)
            default: nil
            }
        }
    }

    private func take(
        _ work: RegisterRequest,
        user: UserName?,
        request: APIRequest
    ) async throws -> JobAnswer {
        try await RegisterJobs(context: self.context).take(work, user: user, request: request)
    }

    private func response(
        to answer: JobAnswer,
        request: APIRequest,
        success: (RegisterResult) -> Response?
    ) async throws -> Response {
        try await RegisterJobs(context: self.context).response(to: answer, request: request, success: success)
    }

    /// The forms under which a handle may be stored: apps paste it into the query without escaping.
    static func lookupForms(_ parameter: QueryParameters.Parameter?) throws -> [Handle] {
        guard let parameter, let text = parameter.value, !text.isEmpty else { return [] }
        guard text.utf8.count <= Handle.maximumLength else {
            throw Problem.invalid("handle", "has at most \(Handle.maximumLength) bytes")
        }
        // A blank may stand for a plus; no push service gives out anything beyond.
        guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw Problem.invalid("handle", "holds printable ASCII characters only")
        }
        if text.hasPrefix("{") {
            throw Problem.invalid(
                "Handle",
                "this is the printed form of a data object ({LENGTH=…,BYTES=…}), which iOS 13 and later give; send the token's "
                    + "bytes as hexadecimal digits"
            )
        }
        var forms = Handle.lookupForms(of: text)
        // A channel URL contains escapes, and some apps send it without escaping it again.
        for form in Handle.lookupForms(of: parameter.raw) where !forms.contains(form) { forms.append(form) }
        return forms.filter { $0.text.utf8.count <= Handle.maximumLength }
    }
}
