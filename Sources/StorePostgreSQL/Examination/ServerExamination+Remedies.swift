/// What to do about a server that cannot be asked.
extension ServerExamination {
    /// A remedy, and words of the reasons that it is for.
    private typealias Remedy = (words: [String], text: String)

    /// In their order, of which the first holds; the words are libpq's, the server's in English, and ours.
    private static let remedies: [Remedy] = [
        (["its name is not known"], "correct its name in store.url, or let this host know it (DNS, /etc/hosts)"),
        (["pg_hba.conf"], "let this host and role in there, with TLS (hostssl)"),
        (
            ["password authentication failed", "no password supplied", "password is empty"],
            "check the role in store.url and its password in store.password_file"
        ),
        (
            ["cannot be read", "could not open", "could not read", "could not load"],
            "make that file readable for the programs' user"
        ),
        (["does not match host name"], "name the server in store.url as its certificate does"),
        (
            ["client certificate", "certificate required", "certificate authentication failed"],
            "name one that it accepts for that role in store.url: sslcert=FILE and sslkey=FILE"
        ),
        (
            ["certificate has expired", "certificate expired", "certificate is not yet valid"],
            "renew that certificate, or set the clocks right"
        ),
        // libpq 15 says no more of any certificate that it refuses.
        (
            ["certificate verify failed"],
            "name the authority of its certificate in store.url (sslrootcert=FILE); if that is named, see whether the certificate has expired"
        ),
        (["certificate"], "name the authority of its certificate in store.url: sslrootcert=FILE"),
        (["does not support SSL"], "give it a certificate, and ssl = on"),
        (["too many connections for"], "raise that limit: ALTER DATABASE or ALTER ROLE … CONNECTION LIMIT"),
        (["permission denied for database"], "let the role in: GRANT CONNECT ON DATABASE … TO …"),
        (["not currently accepting connections"], "let programs in again: ALTER DATABASE … ALLOW_CONNECTIONS true"),
        (["\" does not exist"], "name the store's database and role in store.url as they are, or make them"),
        (["too many clients", "connection slots"], "raise its max_connections"),
        (
            ["Connection refused", "no answer in time", "timed out", "timeout expired", "No such file or directory"],
            "start it, or take it out of store.url"
        ),
    ]

    /// What an operator can do.
    ///
    /// - Parameter reason: Why the server cannot be asked.
    /// - Returns: What to do, in people's words.
    static func remedy(for reason: String) -> String {
        // Each reason of libpq's says first where it has connected to.
        let known = Self.remedies.first { $0.words.contains { reason.contains($0) } }
        return known?.text ?? "mend that, or take it out of store.url"
    }
}
