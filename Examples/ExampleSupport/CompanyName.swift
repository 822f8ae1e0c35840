import ArgumentParser
import BluetoothLE
import BluetoothPrimitives

extension ManufacturerData {
    /// The companies with a name, which is a word.
    private static var named: [(word: String, company: CompanyIdentifier)] {
        (0...UInt16.max).map { CompanyIdentifier($0) }.compactMap { company in
            company.name.map { (AttributeName.typed($0), company) }
        }
    }

    /// The names of companies, each as a word.
    static var companyNames: [String] { named.map(\.word) }

    /// Parses a company on the command line, with the first bytes of its data: `apple`, `004C` or `004C:0215`.
    /// - Throws: `ValidationError`, which names the accepted forms.
    public static func parse(_ text: String) throws -> ManufacturerData {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let number = parts[0].utf8.count <= 4 ? UInt16(parts[0], radix: 16).map { CompanyIdentifier($0) } : nil
        let word = AttributeName.typed(parts[0])
        let company = number ?? named.first { $0.word == word }?.company
        if let company, let data = [UInt8](hexadecimal: parts.count > 1 ? parts[1] : "") {
            return ManufacturerData(company: company, data: data)
        }
        throw ValidationError(
            "give a company identifier or a company's name, such as 004C, apple or, with the first bytes, 004C:0215."
                + (company == nil ? Suggestion.question(for: word, among: companyNames) : ""))
    }
}
