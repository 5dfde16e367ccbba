import Foundation
import OrderedCollections

/// The broadcast channels of all bundle ids.
struct SimulatedChannels {
    /// The most of a bundle id.
    static let maximum = 10_000
    /// Ours: Apple does not say its own.
    static let longestID = 128

    /// Storage policies by id, in the order in which the channels were made.
    private var byBundle: [String: OrderedDictionary<String, Int>] = [:]

    /// Makes a channel.
    ///
    /// - Returns: Its id; nil = there are too many.
    mutating func create(for bundle: String, storage: Int) -> String? {
        guard self.byBundle[bundle, default: [:]].count < Self.maximum else { return nil }
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        let id = Data(bytes).base64EncodedString()
        self.byBundle[bundle, default: [:]][id] = storage
        return id
    }

    /// A channel's policy: 0 = stores nothing, 1 = the most recent push; nil = there is no such channel.
    func storage(of id: String, _ bundle: String) -> Int? { self.byBundle[bundle]?[id] }

    mutating func delete(_ id: String, of bundle: String) { self.byBundle[bundle]?[id] = nil }

    func all(of bundle: String) -> [String] { self.byBundle[bundle].map { Array($0.keys) } ?? [] }
}

/// Which topic each device token belongs to: the one that it was first used with.
///
/// An app gets a token of its own for each: for alerts, for PushKit, and for each Live Activity.
struct TokenTopics {
    /// Those that come later belong to any topic.
    private static let maximum = 10_000_000

    private var topics: [String] = []
    /// Indices in ``topics`` by the hash of a token.
    private var byToken: [Int: UInt8] = [:]

    /// Whether a token is that topic's; one that is new is from now on.
    mutating func claim(_ token: String, for topic: String) -> Bool {
        let key = token.lowercased().hashValue
        if let known = self.byToken[key] { return self.topics[Int(known)] == topic }
        guard self.byToken.count < Self.maximum, let index = self.index(of: topic) else { return true }
        self.byToken[key] = index
        return true
    }

    private mutating func index(of topic: String) -> UInt8? {
        if let index = self.topics.firstIndex(of: topic) { return UInt8(index) }
        guard self.topics.count <= Int(UInt8.max) else { return nil }
        self.topics.append(topic)
        return UInt8(self.topics.count - 1)
    }
}
