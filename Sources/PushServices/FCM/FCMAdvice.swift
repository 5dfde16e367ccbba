extension FCMAnswers {
    /// What an operator should do about what FCM or Google's token service says.
    static func advice(on reason: String, status: Int?) -> String? {
        if let word = EndpointRefusal.word(of: reason) { return Self.adviceOnToken(word) }
        switch reason.prefix(while: { $0 != ";" }) {
        case "THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR":
            return
                "Firebase has no valid APNs key for that app: upload one (Firebase console, Project settings, Cloud Messaging)"
        case "SENDER_ID_MISMATCH":
            return
                "the token is of another Firebase project than service_account_file: use the file of the project that the app is built with"
        case "UNREGISTERED": return "the app was removed from the device, or its token replaced: take its new token"
        case Self.invalidTarget[...]: return "it is not a registration token, or not a whole one"
        default: break
        }
        return switch status {
        case 401: "Google gave a token, and this endpoint does not take it: check endpoint in the app's declaration"
        case 403:
            "the service account may not send in its project: enable the Firebase Cloud Messaging API there, and give the account "
                + "cloudmessaging.messages.create (the role Firebase Cloud Messaging API Admin), or name the file of the right project"
        case 404: "there is no such project: check project_id in service_account_file, and endpoint"
        default: nil
        }
    }

    private static func adviceOnToken(_ word: String) -> String {
        switch word {
        case "invalid_grant":
            "the key is deleted or disabled at Google, or this host's clock is wrong: set the clock, or make a new key (Firebase console, "
                + "Project settings, Service accounts) and put its file in place of service_account_file"
        default:
            "Google gives this service account no token: is it disabled or deleted, or token_uri in its file not Google's?"
        }
    }
}
