/// The nearest of some words to a mistyped one.
public enum Suggestion {
    /// The word of `words` that most likely was meant: at most a third of its letters are wrong, missing, superfluous or
    /// swapped with the next one, or it begins with what was typed.
    public static func nearest(to typed: String, among words: [String]) -> String? {
        let best = words.map { (word: $0, distance: distance(typed, $0)) }.min { $0.distance < $1.distance }
        if let best, best.distance <= best.word.count / 3 { return best.word }
        let longer = words.filter { typed.count >= 2 && $0.hasPrefix(typed) }
        return longer.count == 1 ? longer[0] : nil
    }

    /// ` Did you mean …?` with the word that most likely was meant; empty if there is none.
    public static func question(for typed: String, among words: [String]) -> String {
        nearest(to: typed, among: words).map { " Did you mean \(printable($0))?" } ?? ""
    }

    /// The number of letters to insert, remove, replace or swap with the next one (optimal string alignment).
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.lowercased()), Array(right.lowercased()))
        var rows = [Array(0...right.count)]
        for row in 0..<left.count {
            var next = [row + 1]
            for column in 0..<right.count {
                var cost = min(
                    rows[row][column] + (left[row] == right[column] ? 0 : 1), rows[row][column + 1] + 1,
                    next[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, rows[row - 1][column - 1] + 1)
                }
                next.append(cost)
            }
            rows.append(next)
        }
        return rows[left.count][right.count]
    }
}
