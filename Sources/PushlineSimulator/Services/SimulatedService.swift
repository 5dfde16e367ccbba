/// The push services that the simulator stands in for.
package enum SimulatedService: String, Codable, Sendable, CaseIterable {
    case apns
    case fcm
    case wns
}
