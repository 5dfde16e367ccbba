import PushModel

extension HotPath {
    static let tagMatching = HotPath(name: "tag expression against a device's tags", devices: Sample.devices) { times in
        let expression = TagExpression.any((0..<20).compactMap { (try? Tag("topic:\($0)")).map(TagExpression.tag) })
        let tags = Set((18..<24).compactMap { try? Tag("topic:\($0)") })
        var sum = 0
        for _ in 0..<times * Sample.devices where expression.matches(tags) { sum &+= 1 }
        return sum
    }
}
