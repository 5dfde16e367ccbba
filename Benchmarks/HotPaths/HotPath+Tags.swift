import PushModel

extension HotPath {
    static let tagExpressions = HotPath(name: "tag expression, a tag of it read", devices: 20) { times in
        let text = (0..<10).map { "(topic:\($0) || !region:\($0))" }.joined(separator: " && ")
        var sum = 0
        for _ in 0..<times {
            guard let expression = try? TagExpression(parsing: text, .folded) else { continue }
            sum &+= expression.steps.count
        }
        return sum
    }
}
