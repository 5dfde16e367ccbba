import HTTPTypes
import WebServing

extension HTTPField.Name {
    static let accelBuffering = HTTPField.Name.known("X-Accel-Buffering")
    static let acceptPost = HTTPField.Name.known("Accept-Post")
    static let cursor = HTTPField.Name.known("Pushline-Cursor")
    static let fetchMode = HTTPField.Name.known("Sec-Fetch-Mode")
    static let fetchSite = HTTPField.Name.known("Sec-Fetch-Site")
    static let idempotencyKey = HTTPField.Name.known("Idempotency-Key")
    static let job = HTTPField.Name.known("Pushline-Job")
    static let prefer = HTTPField.Name.known("Prefer")
    static let preferenceApplied = HTTPField.Name.known("Preference-Applied")
    static let resourcePolicy = HTTPField.Name.known("Cross-Origin-Resource-Policy")
}
