import ArgumentParser
import BluetoothLE

/// The devices known by their identity resolving keys.
public struct IdentityOptions: ParsableArguments, Sendable {
    /// A key, or a file of keys.
    @Option(
        help: ArgumentHelp(
            "Only the devices with these identity resolving keys, whatever their private addresses are: a key, or a file with a name and a key in each line.",
            valueName: "key|file"),
        completion: .file())
    public var irk: String?

    /// The defaults.
    public init() {}

    /// The resolver of the devices; nil without the option. The messages never contain the key.
    /// - Throws: ``ProgramError`` with ``ExitStatus/usage`` or ``ExitStatus/badData``.
    public func resolver() async throws -> IdentityResolver? {
        guard let irk else { return nil }
        let notKey: BluetoothError
        do {
            return IdentityResolver([try DeviceIdentity(name: "device", exportedKey: irk)])
        } catch {
            notKey = error
        }
        do throws(BluetoothError) {
            return IdentityResolver(try await IdentityFile.read(irk))
        } catch {
            if error.code == .notFound {
                throw ProgramError(
                    .usage, "--irk takes a key or a file, and there is no such file. \(notKey.message)",
                    remedy: "A key has 32 hexadecimal digits, or 24 characters of Base64.")
            }
            guard error.code == .invalidArgument else { throw error }
            throw ProgramError(.badData, printable(error.message), remedy: error.remedy)
        }
    }
}
