/// All that was measured in one run.
struct Report {
    /// Measurements that belong together.
    struct Section {
        var title: String
        var measurements: [Measurement]
        /// Facts that are no times, each with its name and unit.
        var facts: [Fact] = []
    }

    /// A number that is no time.
    struct Fact {
        var name: String
        var value: Double
        var unit: String
        /// The most it ought to be.
        var goal: Double?

        var meetsGoal: Bool { value <= goal ?? .infinity }
    }

    var sections: [Section] = []

    var meetsGoals: Bool {
        sections.allSatisfy { $0.measurements.allSatisfy(\.meetsGoals) && $0.facts.allSatisfy(\.meetsGoal) }
    }
}

extension Report.Section {
    /// The section as a table of Markdown.
    var table: String {
        var lines: [String] = ["", "## \(title)", ""]
        if !measurements.isEmpty {
            lines.append("| per operation | ns | allocations | goal | × | of |")
            lines.append("| --- | ---: | ---: | ---: | ---: | --- |")
        }
        for entry in measurements {
            let goals = [
                entry.goal?.description,
                entry.allocationGoal.map { $0 == 0 ? "no allocation" : "≤ \(number($0)) allocations" },
            ]
            .compactMap { $0 }.joined(separator: ", ")
            let mark = entry.meetsGoals ? "" : " **missed**"
            lines.append(
                "| \(entry.name) | \(number(entry.cpu)) | \(number(entry.allocations)) | \(goals)\(mark) | "
                    + "\(entry.ratio.map { number($0) } ?? "") | \(entry.floor?.name ?? "") |")
        }
        if !facts.isEmpty {
            lines += ["", "| | | | goal |", "| --- | ---: | --- | ---: |"]
            for fact in facts {
                let goal = fact.goal.map { "≤ \(number($0))\(fact.meetsGoal ? "" : " **missed**")" } ?? ""
                lines.append("| \(fact.name) | \(number(fact.value)) | \(fact.unit) | \(goal) |")
            }
        }
        return lines.joined(separator: "\n")
    }
}

extension Report {
    /// The report as one JSON object: an array of sections.
    var json: String {
        let sections = sections.map { section in
            let measurements = section.measurements.map { entry in
                object([
                    ("name", quoted(entry.name)), ("cpuNanoseconds", plain(entry.cpu)),
                    ("wallNanoseconds", plain(entry.wall)), ("allocations", plain(entry.allocations)),
                    ("goal", entry.goal.map { quoted($0.description) }),
                    ("goalAllocations", entry.allocationGoal.map(plain)),
                    ("floor", entry.floor.map { quoted($0.name) }), ("ratioToFloor", entry.ratio.map(plain)),
                    ("meetsGoals", "\(entry.meetsGoals)"),
                ])
            }
            let facts = section.facts.map { fact in
                object([
                    ("name", quoted(fact.name)), ("value", plain(fact.value)), ("unit", quoted(fact.unit)),
                    ("goal", fact.goal.map(plain)), ("meetsGoals", "\(fact.meetsGoal)"),
                ])
            }
            return object([
                ("title", quoted(section.title)), ("measurements", "[\(measurements.joined(separator: ","))]"),
                ("facts", "[\(facts.joined(separator: ","))]"),
            ])
        }
        return "{\"sections\":[\(sections.joined(separator: ","))]}"
    }

    private func object(_ members: [(String, String?)]) -> String {
        "{" + members.compactMap { name, value in value.map { "\(quoted(name)):\($0)" } }.joined(separator: ",") + "}"
    }

    private func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
    }

    private func plain(_ value: Double) -> String { "\((value * 1000).rounded() / 1000)" }
}

/// A number as a reader wants it: with decimals below a hundred only, thousands apart.
func number(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    let digits = value.magnitude >= 100 ? 0 : value.magnitude >= 10 ? 1 : 2
    let scale = [1, 10, 100][digits]
    let scaled = Int((value.magnitude * Double(scale)).rounded())
    var whole = ""
    for (index, digit) in "\(scaled / scale)".reversed().enumerated() {
        if index > 0, index % 3 == 0 { whole = "," + whole }
        whole = String(digit) + whole
    }
    let text = value < 0 ? "-" + whole : whole
    guard scaled % scale != 0 else { return text }
    let rest = "\(scaled % scale)"
    return text + "." + String(repeating: "0", count: digits - rest.count) + rest
}

extension Goal: CustomStringConvertible {
    var description: String {
        switch self {
        case .nanoseconds(let most): "≤ \(number(most)) ns"
        case .timesFloor(let most): "≤ \(number(most)) ×"
        }
    }
}
