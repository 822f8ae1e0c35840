import ArgumentParser
import BluetoothLE
import BluetoothPrimitives

/// A company on the command line, with the first bytes of its manufacturer data: `apple`, `004C` or `004C:0215`.
public struct ManufacturerSelector: Sendable {
    /// The company.
    public let company: CompanyIdentifier
    /// The bytes; nil without any.
    public let data: [UInt8]?

    /// The companies with a name, which is a word.
    private static var named: [(word: String, company: CompanyIdentifier)] {
        (0...UInt16.max).map { CompanyIdentifier($0) }.compactMap { company in
            company.name.map { (AttributeName.typed($0), company) }
        }
    }

    /// The names of the companies.
    static var names: [String] { named.map(\.word) }

    /// Parses a command-line argument.
    /// - Throws: `ValidationError`, which names the accepted forms.
    public static func parse(_ text: String) throws -> ManufacturerSelector {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let number = parts[0].utf8.count <= 4 ? UInt16(parts[0], radix: 16).map { CompanyIdentifier($0) } : nil
        let word = AttributeName.typed(parts[0])
        let company = number ?? named.first { $0.word == word }?.company
        let data = parts.count > 1 ? [UInt8](hexadecimal: parts[1]) : nil
        guard let company, parts.count == 1 || data != nil else {
            throw ValidationError(
                "give a company identifier or a company's name, such as 004C, apple or, with the first bytes, 004C:0215."
                    + (company == nil ? Suggestion.question(for: word, among: names) : ""))
        }
        return ManufacturerSelector(company: company, data: data)
    }
}
