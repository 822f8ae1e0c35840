/// The rows of the table in Docs/Performance.md.
private struct SummaryRow {
    let label: String
    /// The summarised workloads: a part of their section's title, and the prefixes of their names.
    let section: String
    let names: [String]

    init(_ label: String, _ section: String, _ names: String...) {
        (self.label, self.section, self.names) = (label, section, names)
    }

    static let all = [
        SummaryRow("advertising report, HCI event → 3 fields, borrowed", "Advertising", "event → 3 fields"),
        SummaryRow("… → owned value, 3 typed fields read", "Advertising", "event → owned value, 3"),
        SummaryRow("… of one of 10,000 devices → stream", "Scanning", "joined, every report, all"),
        SummaryRow("… of a private address, looked up among the keys of 100 bonds", "Private", "among"),
        SummaryRow("gateway: report of another process, read one by one", "Gateway", "report, read one by one"),
        SummaryRow("… read in batches of 10 ms", "Gateway", "report, read in batches, awaited by"),
        SummaryRow("… consumer on Swift's thread pool", "Gateway", "report, read in batches, awaited on"),
        SummaryRow("ATT PDU, decode", "decode a PDU", ""),
        SummaryRow("ATT PDU, encode into a buffer used again", "encode a PDU", ""),
        SummaryRow("server: Read Request answered in memory, 220 or 19,998 attributes", "Server: one", "Read Request"),
        SummaryRow("… Write Request of 20 bytes", "Server: one", "Write Request"),
        SummaryRow("read 20 bytes and wait, caller on the loop", "requests", "read 20 bytes, from a task"),
        SummaryRow("… caller on Swift's thread pool", "requests", "read 20 bytes, from the global"),
        SummaryRow("… caller on the main actor, which is on the loop", "main actor", "read"),
        SummaryRow("write 20 bytes and wait for the response", "requests", "write 20 bytes"),
        SummaryRow(
            "notification to an awaiting consumer, 20 or 244 bytes", "without an answer",
            "notification of 20 bytes, received, from a task", "notification of 244"),
        SummaryRow(
            "… consumer on Swift's thread pool", "without an answer",
            "notification of 20 bytes, received, from the global"),
        SummaryRow(
            "write command, each one awaited, 20 or 244 bytes", "without an answer",
            "write command of 20 bytes, sent, from a task", "write command of 244"),
        SummaryRow(
            "… caller on Swift's thread pool", "without an answer", "write command of 20 bytes, sent, from the global"),
        SummaryRow("… caller on the main actor, which is on the loop", "main actor", "write command"),
        SummaryRow("UART chunk of 244 bytes, caller on the main actor, which is on the loop", "main actor", "UART"),
        SummaryRow("discover 10 services × 5 characteristics, ATT_MTU 247", "discovery", "discover"),
        SummaryRow(
            "notification of 20 bytes, sent and received one by one, 1 client", "Server: notifications",
            "notification of 20 bytes, 1 "),
        SummaryRow("… 32 clients in turn, each", "Server: notifications", "notification of 20 bytes, 32"),
        SummaryRow(
            "… 1,000 clients in turn, one value each, of their own floor", "Server: notifications",
            "notification of 20 bytes, 1000"),
        SummaryRow("… 1 client, received by a callback inside the package", "to a callback", "notification"),
        SummaryRow("server: one notify to 100 clients, each, in memory", "clients in memory", "one notify"),
        SummaryRow("… read of a stored value", "clients in memory", "read of a stored"),
        SummaryRow("… read answered by a handler", "clients in memory", "read answered"),
        SummaryRow(
            "channel: SDU of 244 bytes, each sent and read by a call of its own", "channel",
            "SDU of 244 bytes, sent and read, from a task"),
        SummaryRow(
            "… writer and reader on Swift's thread pool", "channel", "SDU of 244 bytes, sent and read, from the global"),
        SummaryRow(
            "channel: 64 KiB in one write, read in 32 SDUs of 2048 bytes", "channel",
            "64 KiB in one write, read in SDUs of 2048, from a task"),
        SummaryRow(
            "… writer and reader on Swift's thread pool", "channel",
            "64 KiB in one write, read in SDUs of 2048, from the global"),
    ]
}

extension Report {
    /// The table of Docs/Performance.md.
    var summary: String {
        var lines = ["Floors: \(floors).", ""]
        lines.append("| per operation, both ends | time | × floor | above | allocations | goals |")
        lines.append("| --- | ---: | ---: | ---: | ---: | --- |")
        for row in SummaryRow.all {
            let entries = sections.filter { $0.title.contains(row.section) }.flatMap(\.measurements).filter { entry in
                // Not the steps of a workload.
                row.names.contains { entry.name.hasPrefix($0) } && !entry.name.hasPrefix("…")
            }
            if !entries.isEmpty { lines.append(line(row.label, entries)) }
        }
        lines += ["", "| | | goal |", "| --- | ---: | ---: |"]
        for fact in sections.flatMap(\.facts) where fact.goal != nil || !fact.unit.isEmpty {
            let goal = fact.goal.map { "≤ \(number($0))" } ?? ""
            lines.append(
                "| \(fact.name) | \(number(fact.value))\(fact.unit.isEmpty ? "" : " \(fact.unit)") | \(goal) |")
        }
        return lines.joined(separator: "\n")
    }

    private var floors: String {
        let floors = sections.first { $0.title.hasPrefix("Floors") }?.measurements ?? []
        return floors.map { "\($0.name) \(time($0.cpu...$0.cpu))" }.joined(separator: "; ")
    }

    private func line(_ label: String, _ entries: [Measurement]) -> String {
        let ratios = entries.compactMap(\.ratio)
        let works = entries.compactMap { $0.floor?.work }
        let lowest = entries.compactMap { $0.floor?.range?.lowerBound }.min()
        let highest = entries.compactMap { $0.floor?.range?.upperBound }.max()
        let spread = lowest.flatMap { low in highest.map { " (\(short(low))–\(short($0)))" } } ?? ""
        let cells = [
            label, time(range(entries.map(\.cpu))), text(range(ratios)) + spread,
            works.isEmpty ? "" : text(range(works)),
            text(range(entries.map { $0.allocations < 0.05 ? 0 : $0.allocations })), entries[0].goals,
        ]
        return "| " + cells.joined(separator: " | ") + " |"
    }

    private func range(_ values: [Double]) -> ClosedRange<Double> {
        (values.min() ?? .nan)...(values.max() ?? .nan)
    }

    /// Two numbers, or one if both have the same text.
    private func text(_ range: ClosedRange<Double>) -> String {
        let (low, high) = (short(range.lowerBound), short(range.upperBound))
        return low == high ? low : "\(low)–\(high)"
    }

    private func time(_ range: ClosedRange<Double>) -> String {
        let isLong = range.upperBound >= 1000
        let scale: Double = isLong ? 1000 : 1
        return text(range.lowerBound / scale...range.upperBound / scale) + (isLong ? " µs" : " ns")
    }
}

/// A number with two significant digits, or with all digits of its integer part.
private func short(_ value: Double) -> String {
    guard value.isFinite, value > 0, value < 9.95 else { return number(value.rounded()) }
    let tenths = Int((value * 10).rounded())
    guard tenths < 10 else { return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)" }
    let hundredths = Int((value * 100).rounded())
    return "0." + (hundredths < 10 ? "0" : "") + "\(hundredths)"
}
