/// The keys that produce characters on a host: those of the layout that its user has chosen.
public struct KeyboardLayout: Sendable {
    private var reports: [Character: KeyboardReport] = [:]
    private var characters: [KeyboardReport: Character] = [:]

    /// A layout with these characters, each by the keys that are down for it.
    public init(_ strokes: [Character: KeyboardReport]) {
        for (character, report) in strokes { add(character, report) }
    }

    /// The keys that are down for a character; nil if the layout has none.
    public func report(for character: Character) -> KeyboardReport? { reports[character] }

    /// The character of a report with one key; nil if it has none.
    public func character(for report: KeyboardReport) -> Character? { characters[report] }

    private mutating func add(_ character: Character, _ report: KeyboardReport) {
        reports[character] = report
        characters[report] = character
    }

    /// The layout of the United States: the printable characters of ASCII, the tab, and line breaks (LF, CR, and
    /// CR LF) for Return.
    public static let unitedStates: KeyboardLayout = {
        var layout = KeyboardLayout([:])
        /// Adds the keys with consecutive usages, without and with Shift.
        func add(from usage: UInt8, _ plain: String, _ shifted: String) {
            for (keys, modifiers) in [(plain, KeyboardModifiers()), (shifted, .leftShift)] {
                for (offset, character) in keys.enumerated() {
                    layout.add(character, KeyboardReport(modifiers: modifiers, keys: [usage + UInt8(offset)]))
                }
            }
        }
        add(from: 0x04, "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        add(from: 0x1E, "1234567890", "!@#$%^&*()")
        add(from: 0x2D, "-=[]\\", "_+{}|")
        add(from: 0x33, ";'`,./", ":\"~<>?")
        // Return types the last of its characters at a host.
        let others: [(Character, UInt8)] = [
            ("\r\n", 0x28), ("\r", 0x28), ("\n", 0x28), ("\t", 0x2B), (" ", 0x2C),
        ]
        for (character, usage) in others {
            layout.add(character, KeyboardReport(keys: [usage]))
        }
        return layout
    }()
}

/// The text that the reports of a keyboard type, for a host that receives them.
///
/// A key types when it goes down, and not while it stays down: a host repeats keys by its own clock.
public struct KeyboardText: Sendable {
    private let layout: KeyboardLayout
    private var down: Set<UInt8> = []

    /// The text of a keyboard whose keys are all up.
    public init(_ layout: KeyboardLayout = .unitedStates) { self.layout = layout }

    /// The characters that a report types; none for keys that the layout does not have.
    public mutating func type(_ report: KeyboardReport) -> String {
        defer { down = Set(report.keys) }
        let shift: KeyboardModifiers =
            report.modifiers.isDisjoint(with: [.leftShift, .rightShift]) ? [] : .leftShift
        let others = report.modifiers.subtracting([.leftShift, .rightShift])
        return String(
            report.keys.filter { !down.contains($0) }.compactMap {
                layout.character(for: KeyboardReport(modifiers: others.union(shift), keys: [$0]))
            })
    }
}
