import Authentication
import HTTPTypes
import PushModel
import WebServing

/// The cookie that holds a session's secret: of this host alone, and out of reach of scripts.
///
/// Each app has one of its own, so that a browser may be signed in to several. Browsers take `__Host-` and `Secure` over plain HTTP
/// from 127.0.0.1 and localhost too; elsewhere the page needs TLS.
enum SessionCookie {
    private static func name(_ kind: SessionKind, _ app: AppID) -> String {
        app == .default ? kind.cookie : "\(kind.cookie)-\(app.name)"
    }

    /// The secret in a request's cookie of that app; nil = none.
    static func secret(in headers: HTTPFields, of kind: SessionKind, app: AppID) -> SessionSecret? {
        let name = Self.name(kind, app)
        for field in headers[values: .cookie] {
            for cookie in field.split(separator: ";") {
                let cookie = cookie.trimming()
                guard cookie.hasPrefix(name), cookie.dropFirst(name.count).first == "=" else { continue }
                return SessionSecret(String(cookie.dropFirst(name.count + 1)))
            }
        }
        return nil
    }

    /// Makes the value of `Set-Cookie`.
    ///
    /// - Parameters:
    ///   - secret: The session's secret; nil = the cookie goes.
    ///   - kind: Which page the session is for.
    ///   - app: The session's app.
    ///   - lifetime: For how long the browser keeps it.
    /// - Returns: The value.
    static func header(
        _ secret: SessionSecret?,
        of kind: SessionKind,
        app: AppID,
        lifetime: Duration = .zero
    ) -> String {
        let pair = "\(Self.name(kind, app))=\(secret?.text ?? "")"
        return "\(pair); Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=\(lifetime.components.seconds)"
    }
}

/// Whether a request comes from a page of this very server.
enum PageOrigin {
    /// Refuses what a page of another origin may have sent in its user's name.
    ///
    /// Browsers say by `Sec-Fetch-Site` whose page asks, and older ones by `Origin`.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - mustTell: Whether a request that says neither is refused too.
    /// - Throws: ``Problem`` 403.
    static func check(_ request: HTTPRequest, mustTell: Bool) throws {
        let isOwn: Bool
        if let site = request.headerFields.text(of: .fetchSite) {
            // none: the user's own doing, such as a bookmark.
            isOwn = site == "same-origin" || (site == "none" && !mustTell)
        } else if let origin = request.headerFields.text(of: .origin) {
            let host = request.authority?.lowercased()
            isOwn = host != nil && ["https", "http"].contains { origin.lowercased() == "\($0)://\(host ?? "")" }
        } else {
            isOwn = !mustTell
        }
        guard isOwn else {
            throw Problem.forbidden(
                "a session is for pages of this server: the request needs Sec-Fetch-Site: same-origin, or this server's Origin"
            )
        }
    }
}
