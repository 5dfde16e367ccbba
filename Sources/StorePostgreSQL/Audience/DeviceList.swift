import PushModel
import Store
import StoreKit
import StoreSQL

/// Devices as they are read: all of a page in one row, whose columns are lists in bytes.
///
/// The hot path of a campaign: neither side makes a row or a value for each device.
struct DeviceList {
    let rows: [Int64]
    let credentials: [Int64]
    private let templates: [Int64]
    private let lengths: [Int64]
    private let handles: [UInt8]

    /// Reads the devices of a query with the columns `row`, `handle`, `credential` and `template`, in its order.
    static func reading(_ devices: SQLStatement) -> SQLStatement {
        "SELECT \(raw: self.columns) FROM (\(devices)) AS device"
    }

    static let columns = """
        string_agg(int8send(device."row"), ''::bytea) AS numbers,
        string_agg(int8send(octet_length(device.handle)::bigint), ''::bytea) AS lengths,
        string_agg(textsend(device.handle), ''::bytea) AS handles,
        string_agg(int8send(coalesce(device.credential, 0)), ''::bytea) AS credentials,
        string_agg(int8send(coalesce(device.template, 0)), ''::bytea) AS templates
        """

    /// What a live registration has of them.
    static let ofRegistration =
        "registration.\"row\", registration.handle, registration.credential, registration.template"

    /// - Parameter rows: Of ``reading(_:)``: one.
    /// - Throws: ``StoreError``.
    init(_ rows: [SQLRow]) throws {
        guard let row = rows.first else { throw StoreError(.corrupt, "there is no list of devices") }
        self.rows = try ByteList.numbers(row["numbers"])
        self.credentials = try ByteList.numbers(row["credentials"])
        self.templates = try ByteList.numbers(row["templates"])
        self.lengths = try ByteList.numbers(row["lengths"])
        let handles: [UInt8]? = try row["handles"]
        self.handles = handles ?? []
        guard self.lengths.count == self.rows.count, self.lengths.reduce(0, +) == self.handles.count else {
            throw StoreError(.corrupt, "a device has no handle")
        }
    }

    /// Appends them to a page.
    ///
    /// - Parameters:
    ///   - page: The page.
    ///   - names: Those of all credentials that they have.
    ///   - kind: Whether their templates are of interest.
    /// - Throws: ``StoreError``.
    func append(to page: inout AudiencePage, _ names: [Int64: CredentialName], _ kind: RegistrationKind) throws {
        for (index, number) in self.credentials.enumerated() where number != 0 {
            guard let name = names[number] else {
                throw StoreError.namelessCredential
            }
            page.credentials.append(name, at: page.rows.count + index)
        }
        page.rows += self.rows
        if kind == .template { page.templates += self.templates }
        unsafe self.handles.withUnsafeBufferPointer { bytes in
            var start = 0
            for length in self.lengths {
                let end = start + Int(length)
                unsafe page.handles.append(UnsafeBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
        }
    }
}

/// Numbers as `int8send` writes them, one behind the other.
enum ByteList {
    static func numbers(_ bytes: [UInt8]?) throws(StoreError) -> [Int64] {
        guard let bytes else { return [] }
        guard bytes.count.isMultiple(of: 8) else { throw StoreError(.corrupt, "a list of numbers has other bytes") }
        return stride(from: 0, to: bytes.count, by: 8).map { start in
            Int64(bitPattern: bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) })
        }
    }
}
