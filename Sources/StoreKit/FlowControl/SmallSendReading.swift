package import PushModel
package import Store

/// The sends of a message that are read for one step: what is behind the first that finds a service's credit used up would be read again.
package struct SmallSendReading {
    /// A hundred large ones do not fill the memory: the rest is read next time.
    package static let maximumDevices = 100 * SmallSend.maximumDevices

    package private(set) var sends: [SmallSend] = []
    /// Of the services that they go to.
    package private(set) var credit: [PushService: Credit] = [:]
    private var spent: [PushService: Int] = [:]
    private var count = 0

    package init() {}

    /// Adds a send.
    ///
    /// - Parameters:
    ///   - send: The next of the message.
    ///   - find: Finds a service's credit; asked once for each.
    /// - Returns: Whether another is to be read.
    /// - Throws: What `find` throws.
    package mutating func add(_ send: SmallSend, credit find: (PushService) throws -> Credit) rethrows -> Bool {
        var isUsedUp = false
        if case .all(let reaches) = send.audience {
            for reach in reaches {
                self.count += reach.devices.count
                guard reach.pns.isInService else { continue }
                let left = try self.credit[reach.pns] ?? find(reach.pns)
                self.credit[reach.pns] = left
                self.spent[reach.pns, default: 0] += reach.devices.count
                // Where there was none from the beginning, sends are passed over.
                if left.devices > 0, self.spent[reach.pns, default: 0] > left.devices { isUsedUp = true }
            }
        }
        self.sends.append(send)
        return self.count < Self.maximumDevices && !isUsedUp
    }
}
