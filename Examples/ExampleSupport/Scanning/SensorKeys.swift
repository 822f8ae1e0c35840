import BluetoothPrimitives
import BluetoothProfiles

/// The keys of sensors that encrypt what they advertise, by their addresses.
public struct SensorKeys: Sendable {
    /// By the number of the address, public or random.
    private var keys: [UInt64: BindKey] = [:]

    /// No keys.
    public init() {}

    /// The keys in the arguments of `--key`: an address and its key each, or a file of them.
    /// - Throws: ``ProgramError``, whose message never contains a key.
    public init(_ arguments: [String]) async throws {
        for argument in arguments {
            // Neither an address nor a key has a slash, as the path of a file with `=` in its name may have.
            if argument.contains("="), !argument.contains("/") {
                if let problem = add(argument) { throw ProgramError(.usage, "--key: \(problem)", remedy: Self.remedy) }
                continue
            }
            let bytes = try await SecretArgument.contents(
                of: argument, "--key takes ADDRESS=KEY", remedy: Self.remedy)
            for (number, line) in String(decoding: bytes, as: UTF8.self).split(
                omittingEmptySubsequences: false, whereSeparator: \.isNewline
            ).enumerated() {
                let text = String(line.filter { !$0.isWhitespace })
                guard !text.isEmpty, !text.hasPrefix("#"), let problem = add(text) else { continue }
                let name = argument == "-" ? "Standard input" : printable(argument)
                throw ProgramError(.badData, "\(name), line \(number + 1): \(problem)", remedy: Self.remedy)
            }
        }
    }

    private static let remedy = "An example: A4:C1:38:8D:18:B2=00112233445566778899aabbccddeeff"

    /// Adds an address with its key; the problem if the text is none.
    private mutating func add(_ text: String) -> String? {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = [UInt8](hexadecimal: parts[0]), address.count == 6 else {
            return "The text is no address, '=' and a key."
        }
        guard let key = BindKey(String(parts[1])) else {
            return "The key of \(printable(String(parts[0]))) is not 32 hexadecimal digits."
        }
        keys[address.reduce(0) { $0 << 8 | UInt64($1) }] = key
        return nil
    }

    /// The key of the sensor with an address; nil without one.
    func key(of address: BluetoothAddress?) -> BindKey? { address.flatMap { keys[$0.value] } }
}
