package import PushModel
package import Store

extension JobID {
    /// As the tables hold it.
    package var blob: [UInt8] { Array(self.bytes) }

    /// Reads the column's value.
    package init(blob: [UInt8]) throws(StoreError) {
        guard let id = JobID(bytes: blob) else { throw StoreError(.corrupt, "a row's job id is not 16 bytes") }
        self = id
    }
}

extension UserName {
    /// Reads a name from its row.
    ///
    /// - Parameters:
    ///   - key: The name's ``key``.
    ///   - shown: The name's ``shown``, if the row has it.
    /// - Throws: ``StoreError`` for an invalid name.
    package init(stored key: String, shown: String?) throws(StoreError) {
        do { try self.init(key: key, shownAs: shown) } catch {
            throw StoreError(.corrupt, "a row's user has no legal name")
        }
    }
}

extension AppID {
    /// Reads the column's value.
    package init(stored name: String) throws(StoreError) {
        do { try self.init(name) } catch { throw StoreError(.corrupt, "a row's app has no legal name") }
    }
}

extension JobLabel {
    /// Reads the column's value.
    package init(stored text: String) throws(StoreError) {
        do { try self.init(text) } catch { throw StoreError(.corrupt, "a row has no legal label") }
    }
}

extension RegistrationID {
    /// Reads the column's value.
    package init(stored text: String) throws(StoreError) {
        guard let id = RegistrationID(text) else { throw StoreError(.corrupt, "a row has no legal registration id") }
        self = id
    }
}

extension Tag {
    /// Reads the column's value.
    package init(stored name: String) throws(StoreError) {
        do { try self.init(kept: name) } catch { throw StoreError(.corrupt, "a row has no legal tag") }
    }
}

extension CredentialName {
    /// Reads the column's value.
    package init(stored name: String) throws(StoreError) {
        do { try self.init(name) } catch { throw StoreError(.corrupt, "a row has no legal name of a credential") }
    }
}
