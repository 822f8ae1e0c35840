/// The measurements of one run.
struct Report {
    /// A group of measurements.
    struct Section {
        var title: String
        var measurements: [Measurement]
        /// Numbers other than times, each with its name and unit.
        var facts: [Fact] = []
    }

    /// A number other than a time.
    struct Fact {
        var name: String
        var value: Double
        var unit: String
        /// Its upper limit.
        var goal: Double?

        var meetsGoal: Bool { value <= goal ?? .infinity }
    }

    var sections: [Section] = []

    /// The medians of several runs of the same workloads.
    init(mediansOf runs: [Report]) {
        guard let first = runs.first else { return }
        sections = first.sections.indices.map { index in
            let same = runs.map { $0.sections[index] }
            var section = same[0]
            for entry in section.measurements.indices {
                section.measurements[entry] = Measurement(mediansOf: same.map { $0.measurements[entry] })
            }
            for fact in section.facts.indices { section.facts[fact].value = median(same.map { $0.facts[fact].value }) }
            return section
        }
    }

    init() {}

    /// The names of the measurements that miss their goals, a time by more than the tolerance.
    var missed: [String] {
        sections.flatMap { section in
            section.measurements.filter { !$0.meetsGoals(tolerance: Measurement.tolerance) }.map(\.name)
                + section.facts.filter { !$0.meetsGoal }.map(\.name)
        }
    }
}

extension Report.Section {
    /// The section as a table of Markdown.
    var table: String {
        var lines: [String] = ["", "## \(title)", ""]
        if !measurements.isEmpty {
            lines.append("| per operation | ns | allocations | goal | × | of | work above it |")
            lines.append("| --- | ---: | ---: | ---: | ---: | --- | ---: |")
        }
        lines += measurements.map(\.row)
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
                    (entry.floor?.work == nil ? "goalRatio" : "goalWork", entry.goal.map(plain)),
                    ("goalAllocations", entry.allocationGoal.map(plain)),
                    ("floor", entry.floor.map { quoted($0.name) }),
                    ("floorNanoseconds", entry.floor.map { plain($0.cpu) }),
                    ("ratioToFloor", entry.ratio.map(plain)),
                    ("workAboveFloor", entry.floor?.work.map(plain)),
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

/// A number for readers: with decimals only below a hundred, and thousands separators.
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
    var rest = String("\(scale + scaled % scale)".dropFirst())
    while rest.last == "0" { rest.removeLast() }
    return text + "." + rest
}

extension Measurement {
    /// The medians of several runs of a workload.
    init(mediansOf runs: [Measurement]) {
        self = runs[0]
        cpu = median(runs.map(\.cpu))
        wall = median(runs.map(\.wall))
        allocations = median(runs.map(\.allocations))
        guard let floor else { return }
        let costs = runs.compactMap(\.floor)
        let ratios = costs.map(\.ratio)
        self.floor = FloorCost(
            name: floor.name, cpu: median(costs.map(\.cpu)), ratio: median(ratios),
            work: floor.work.map { _ in median(costs.compactMap(\.work)) },
            range: (ratios.min() ?? floor.ratio)...(ratios.max() ?? floor.ratio))
    }

    /// The row of the table.
    fileprivate var row: String {
        let cells = [
            name, number(cpu), number(allocations), goals + (meetsGoals ? "" : " **missed**"),
            ratio.map { number($0) } ?? "", floor?.name ?? "",
            floor?.work.map { number($0.rounded()) } ?? "",
        ]
        return "| " + cells.joined(separator: " | ") + " |"
    }

    /// The goals, for readers.
    var goals: String {
        let goals = [
            goal.map { "≤ \(number($0)) \(floor?.work == nil ? "×" : "above")" },
            allocationGoal.map { $0 == 0 ? "no allocation" : "≤ \(number($0)) allocations" },
        ]
        return goals.compactMap { $0 }.joined(separator: ", ")
    }
}
