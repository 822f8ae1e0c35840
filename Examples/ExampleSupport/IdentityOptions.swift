import ArgumentParser
import BluetoothLE

/// The devices known by their identity resolving keys.
public struct IdentityOptions: ParsableArguments, Sendable {
    /// A key, or a file of keys.
    @Option(
        help: ArgumentHelp(
            "The device with this identity resolving key, whatever its private address is: a key, or a file with a name and a key on each line, from which -n chooses one (ble scan uses all). \(SecretArgument.help)",
            valueName: "key|file"),
        completion: .file())
    public var irk: String?

    /// The name of the device of a key that is given alone.
    static let keyAlone = "device"

    /// The defaults.
    public init() {}

    /// The resolver of the devices; nil without the option. The messages never contain the key.
    /// - Throws: ``ProgramError`` with ``ExitStatus/usage`` or ``ExitStatus/badData``.
    public func resolver() async throws -> IdentityResolver? {
        guard let irk else { return nil }
        let notKey: BluetoothError
        do throws(BluetoothError) {
            return try Self.resolver(ofKey: irk)
        } catch {
            notKey = error
        }
        if irk == "-" {
            let bytes = try await SecretArgument.contents(of: irk, "--irk takes a key")
            do throws(BluetoothError) {
                return try Self.resolver(ofKey: SecretArgument.text(bytes) ?? "")
            } catch {
                throw ProgramError(.badData, "Standard input: \(error.message)")
            }
        }
        try rejectFolder(irk)
        do throws(BluetoothError) {
            return IdentityResolver(try await IdentityFile.read(irk))
        } catch {
            if error.code == .notFound {
                throw ProgramError(
                    .usage, "--irk is neither a key nor an existing file. \(notKey.message)")
            }
            guard error.code == .invalidArgument else { throw error }
            throw ProgramError(.badData, printable(error.message), remedy: error.remedy)
        }
    }
}

extension IdentityOptions {
    private static func resolver(ofKey key: String) throws(BluetoothError) -> IdentityResolver {
        IdentityResolver([try DeviceIdentity(name: keyAlone, exportedKey: key)])
    }
}

extension CommonOptions {
    /// The device that --irk selects; nil without the option. Of a file with several, -n chooses one by its name there.
    /// - Throws: ``ProgramError``, with the names if none or no known one is chosen; never with a key.
    public func identity() async throws -> DeviceIdentity? {
        guard let identities = try await identified.resolver()?.identities else { return nil }
        if address != nil {
            throw ProgramError(.usage, "Give either a key (--irk) or an address (-a), not both.")
        }
        let chosen = name.map { name in identities.filter { $0.name == name } } ?? identities
        if chosen.count == 1 { return chosen[0] }
        let names =
            identities.prefix(8).map { printable($0.name) }.joined(separator: ", ")
            + (identities.count > 8 ? ", …" : "")
        if let name {
            if identities.map(\.name) == [IdentityOptions.keyAlone] {
                throw ProgramError(
                    .usage, "A key names its device, so -n '\(printable(name))' has no meaning with it.",
                    remedy: "Leave out the name. -n chooses a device if --irk is a file.")
            }
            throw ProgramError(
                .usage, "--irk has no key of a device named '\(printable(name))'.", remedy: "It has: \(names)")
        }
        throw ProgramError(
            .usage, "--irk has the keys of \(identities.count) devices.", remedy: "Choose one with -n: \(names)")
    }
}
