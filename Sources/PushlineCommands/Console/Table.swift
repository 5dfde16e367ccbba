/// Rows with aligned columns.
struct Table {
    let header: [String]
    private(set) var rows: [[String]] = []
    /// Columns of numbers, which stand at the right.
    private let numeric: Set<Int>
    /// Columns whose cells may be long: they are cut, with an ellipsis at the end.
    private let narrow: Set<Int>

    /// The most characters of a cell in a narrow column.
    static let narrowWidth = 40

    init(_ header: [String], numeric: Set<Int> = [], narrow: Set<Int> = []) {
        self.header = header
        self.numeric = numeric
        self.narrow = narrow
    }

    /// Adds a row; control characters in it are made harmless.
    mutating func add(_ cells: [String?]) {
        self.rows.append(
            cells.enumerated().map { column, cell in
                let text = Console.safe(cell ?? "-")
                guard self.narrow.contains(column), text.count > Self.narrowWidth else { return text }
                return text.prefix(Self.narrowWidth - 1) + "…"
            }
        )
    }

    /// The lines, header first.
    var lines: [String] {
        let all = [self.header] + self.rows
        let widths = self.header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let space = String(repeating: " ", count: widths[column] - cell.count)
                line += self.numeric.contains(column) ? space + cell : cell + space
                if column < row.count - 1 { line += "  " }
            }
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }
    }
}
