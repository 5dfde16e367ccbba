extension WNSAnswers {
    /// What an operator should do about what WNS or Microsoft's token service says.
    static func advice(on reason: String, status: Int?) -> String? {
        if let word = EndpointRefusal.word(of: reason) { return Self.adviceOnToken(word) }
        if reason.hasPrefix(Self.domainBlocked) {
            return "Microsoft has blocked this sender for abuse: ask its support"
        }
        return switch status {
        case 401: "WNS does not take the token: is client_id mapped to the app's package family name at Microsoft?"
        case 403: "the channel is of another app than client_id: use that app's credentials"
        case 404, 410: "the channel has ended or never was: have the app ask Windows for a new one"
        default: nil
        }
    }

    private static func adviceOnToken(_ word: String) -> String {
        switch word {
        case "invalid_client":
            "client_id and the secret do not belong together, or the secret has ended: make a new secret (Entra, Certificates & secrets) "
                + "and put it into client_secret_file"
        case "invalid_scope":
            "scope must be https://wns.windows.com/.default with Entra's token_url, and notify.windows.com with the Store's"
        default: "check token_url, which names your tenant, and client_id, which must be an application in it"
        }
    }
}
