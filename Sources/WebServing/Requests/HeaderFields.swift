package import HTTPTypes

extension HTTPFields {
    /// The same value as the subscript.
    ///
    /// A single field, the usual case, is returned without joining.
    package func text(of name: HTTPField.Name) -> String? {
        var found: String?
        for field in self where field.name == name {
            if found != nil { return self[name] }
            found = field.value
        }
        return found
    }
}

extension HTTPField.Name {
    package static let forwardedFor = HTTPField.Name.known("X-Forwarded-For")
    package static let requestID = HTTPField.Name.known("Request-Id")
    package static let proxyRequestID = HTTPField.Name.known("X-Request-Id")
    package static let contentTypeOptions = HTTPField.Name.known("X-Content-Type-Options")

    package static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("a header has an invalid name") }
        return name
    }
}
