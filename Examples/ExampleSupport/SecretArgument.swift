import BluetoothSystem
import Synchronization

/// A secret on the command line: itself, the name of a file that has it, or `-` for standard input. Other users of the
/// machine see the arguments of programs (`ps`).
public enum SecretArgument {
    /// The sentence for the help of an option that takes one.
    public static let help = "Command lines are visible to other users, so prefer a file or standard input (-)."

    private static let limit = 4096
    /// What standard input has given, which is read once, however often the secret is used.
    private static let standardInput = Mutex<[UInt8]?>(nil)

    /// The bytes of the file or of standard input, for an argument that is not the secret itself.
    /// - Parameters:
    ///   - option: the option and what it takes besides a file, such as `--irk takes a key`.
    ///   - problem: why the argument is not the secret itself.
    /// - Throws: ``ProgramError``; its message does not contain the argument if that may be a mistyped secret.
    public static func contents(
        of argument: String, _ option: String, problem: String? = nil, remedy: String? = nil
    ) async throws -> [UInt8] {
        if argument == "-", let bytes = standardInput.withLock({ $0 }) { return bytes }
        let bytes: [UInt8]
        do {
            bytes = try await ExampleSupport.contents(of: argument, limit: limit)
        } catch let error as ProgramError where error.status == .noInput && !SystemFiles.exists(argument) {
            let text = "\(option) or a file, and there is no such file."
            throw ProgramError(.usage, [text, problem].compactMap(\.self).joined(separator: " "), remedy: remedy)
        }
        if argument == "-" { standardInput.withLock { $0 = bytes } }
        return bytes
    }

    /// The bytes as a text, without the line ends and blanks around it; nil if they are no UTF-8.
    public static func text(_ bytes: [UInt8]) -> String? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var rest = text.drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}
