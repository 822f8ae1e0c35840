import ArgumentParser
import BluetoothLE
import BluetoothPrimitives

/// The assigned name of a characteristic or descriptor, or the beginnings of some of its words, as a user types it:
/// `Battery Level`, `battery-level`, `battery`.
public struct AttributeName: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let description: String
    /// The UUIDs with this name.
    public let exact: Set<BluetoothUUID>
    /// The UUIDs with a name that contains words beginning with those of the text.
    public let partial: Set<BluetoothUUID>

    /// The assigned UUIDs of services.
    static let services: [ClosedRange<UInt16>] = [0x1800...0x18FF, 0xFC00...0xFFFF]
    /// The assigned UUIDs of characteristics.
    static let characteristics: [ClosedRange<UInt16>] = [0x2A00...0x2CFF]
    /// The assigned UUIDs of descriptors.
    static let descriptors: [ClosedRange<UInt16>] = [0x2900...0x29FF]

    /// The assigned names, each as a word.
    static func all(in ranges: [ClosedRange<UInt16>]) -> [String] {
        names(in: ranges).map { $0.words.joined(separator: "-") }.sorted()
    }

    /// Parses the UUID or the assigned name of a service on the command line.
    public static let service = parser(of: services, example: "180D or heart-rate")
    /// Parses the UUID or the assigned name of a characteristic on the command line.
    public static let characteristic = parser(of: characteristics, example: "2A19 or battery-level")

    private static func parser(
        of ranges: [ClosedRange<UInt16>], example: String
    ) -> @Sendable (String) throws -> BluetoothUUID {
        { text in
            if let uuid = BluetoothUUID(text) ?? uuid(text, in: ranges) { return uuid }
            let question = Suggestion.question(for: text, among: all(in: ranges))
            throw ValidationError("give a UUID or an assigned name, such as \(example).\(question)")
        }
    }

    /// An assigned name as a word.
    public static func typed(_ name: String) -> String { words(of: name).joined(separator: "-") }

    /// A name; nil if no assigned name of a characteristic or descriptor contains its words.
    public init?(_ text: String) {
        let wanted = Self.words(of: text)
        guard !wanted.isEmpty else { return nil }
        description = text
        let names = Self.names(in: Self.characteristics + Self.descriptors)
        exact = Set(names.filter { $0.words.joined() == wanted.joined() }.map(\.uuid))
        partial = exact.union(
            names.filter { _, words in wanted.allSatisfy { word in words.contains { $0.hasPrefix(word) } } }.map(\.uuid)
        )
        if partial.isEmpty { return nil }
    }

    /// The UUID with this assigned name; nil if none or several have it.
    static func uuid(_ text: String, in ranges: [ClosedRange<UInt16>]) -> BluetoothUUID? {
        let wanted = words(of: text).joined()
        let found = names(in: ranges).filter { $0.words.joined() == wanted }
        return found.count == 1 ? found.first?.uuid : nil
    }

    /// The notation of an attribute with each mistyped word of an assigned name corrected; nil if none was.
    static func nearest(to text: String) -> String? {
        let known = Set(names(in: services + characteristics + descriptors).flatMap(\.words)).sorted()
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { part in
            guard BluetoothUUID(String(part)) == nil else { return String(part) }
            return words(of: String(part)).map { word in
                let isKnown = known.contains { $0.hasPrefix(word) }
                return isKnown ? word : Suggestion.nearest(to: word, among: known) ?? word
            }.joined(separator: "-")
        }
        let corrected = parts.joined(separator: "/")
        return AttributeSelector(corrected) == nil ? nil : corrected
    }

    private static func names(in ranges: [ClosedRange<UInt16>]) -> [(uuid: BluetoothUUID, words: [String])] {
        BluetoothUUID.assignedNames.filter { number, _ in ranges.contains { $0.contains(number) } }
            .map { (BluetoothUUID($0.key), words(of: $0.value)) }
    }

    /// The words in lowercase.
    private static func words(of text: String) -> [String] {
        text.lowercased().split { !($0.isLetter || $0.isNumber) }.map(String.init)
    }
}
