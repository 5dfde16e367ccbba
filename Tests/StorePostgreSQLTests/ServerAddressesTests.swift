import Store
import Testing

@testable import StorePostgreSQL

/// Addresses are libpq's own words, and hold no password.
@Suite struct ServerAddressesTests {
    @Test func eachHostIsConnectedToByItself() throws {
        let words = "sslrootcert=/ca&target_session_attrs=read-write"
        let addresses = try ServerAddresses("postgresql://me@one,[::1]:6000/data?\(words)")
        #expect(addresses.servers.map { $0["host"] } == ["one", "::1"])
        #expect(addresses.servers.map { $0["port"] } == [nil, "6000"])
        for server in addresses.servers {
            #expect(server["user"] == "me" && server["dbname"] == "data" && server["sslrootcert"] == "/ca")
            #expect(server["target_session_attrs"] == "any")
        }
        let others = try ServerAddresses("hostaddr=10.0.0.1,10.0.0.2 port=6000 dbname=data").servers
        #expect(others.map { $0["hostaddr"] } == ["10.0.0.1", "10.0.0.2"])
        #expect(others.allSatisfy { $0["port"] == "6000" })
        #expect(throws: StoreError.self) { try ServerAddresses("host=one,two,three port=6000,6001") }
    }

    /// Who says nothing gets what nobody can listen to.
    @Test func onlyThisHostIsReachedWithoutTLS() throws {
        func mode(_ address: String) throws -> String? { try ServerAddresses(address).servers[0]["sslmode"] }
        #expect(try mode("postgresql://db.example.org/data") == "verify-full")
        #expect(try mode("postgresql://127.0.0.1/data") == "prefer")
        #expect(try mode("host=/run/postgresql dbname=data") == "prefer")
        // Whose environment may name another host.
        #expect(try mode("dbname=data") == "verify-full")
        #expect(try mode("host=127.example.org") == "verify-full")
        #expect(try mode("host=localhost hostaddr=10.0.0.1") == "verify-full")
        #expect(try mode("postgresql://db.example.org/data?sslmode=require") == "require")
    }

    @Test func aModeThatLetsOthersTakeAServersPlaceIsKnown() throws {
        let addresses = try ServerAddresses("postgresql://me@one,127.0.0.1/data?sslmode=require")
        #expect(addresses.weakMode(of: 0) == "require" && addresses.weakMode(of: 1) == nil)
        #expect(try ServerAddresses("postgresql://me@one/data").weakMode(of: 0) == nil)
    }

    @Test func anotherRoleSeesTheSameServers() throws {
        let addresses = try ServerAddresses("postgresql://me@one,two:6000/data", passwordFile: "/mine")
        #expect(addresses.description == "PostgreSQL at one:5432, two:6000, database data" && addresses.role == "me")
        let others = addresses.connecting(as: "owner", passwordFile: nil)
        #expect(others.role == "owner" && others.passwordFile == nil)
        #expect(others.description == addresses.description)
    }

    @Test func anAddressThatCannotBeReadOrNamesNoServersIsRefused() {
        for (address, words) in [
            ("postgresql://one/data?x=1", "cannot be read"), ("service=mine", "must name its servers"),
        ] {
            let error = #expect(throws: StoreError.self) { try ServerAddresses(address) }
            #expect(error?.message.contains(words) == true)
        }
    }

    @Test(arguments: [
        "postgresql://me:secret@one/data", "host=one password=secret", "host=one sslpassword=secret",
        "postgresql://me:secret@one/data?x=1",
    ])
    func aPasswordIsRefusedAndNotRepeated(_ address: String) throws {
        let error = #expect(throws: StoreError.self) { try ServerAddresses(address) }
        #expect(error.map { !$0.description.contains("secret") } ?? false)
    }

    @Test func settingsStandBeforeThoseOfTheAddress() throws {
        let addresses = try ServerAddresses("host=one options='-c jit=on'")
        #expect(try addresses.parameters(of: 0, settings: "-c jit=off")["options"] == "-c jit=off -c jit=on")
        let unreadable = try ServerAddresses("host=one", passwordFile: "/nowhere")
        let error = #expect(throws: StoreError.self) { try unreadable.parameters(of: 0, settings: "") }
        #expect(error?.message.contains("/nowhere") == true)
    }
}
