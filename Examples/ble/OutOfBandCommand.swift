import ArgumentParser
import BluetoothLE
import ExampleSupport

/// The scope of `oob`.
enum OutOfBandScope: OptionScope {
    static let groups: OptionGroups = [.opening, .bonds, .trace]
    static let insteadOfTimeout: String? = nil
}

struct OutOfBandCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "oob", abstract: "Create out-of-band data with which another device can pair with this machine.",
        discussion: """
            Prints the values for LE Secure Connections, as text for a QR code and as the message for an NFC tag. A \
            device that has received them is authenticated when it pairs with this machine, and nobody is asked, \
            whichever side begins. New values replace the previous ones, and are valid until the adapter is powered off; anyone who \
            can read them can pair in the device's place. For the opposite direction, see: ble pair --help

            They contain the adapter's address, so they require an adapter without private addresses: --privacy off.

            Needs CAP_NET_ADMIN. bluetoothd must be stopped, since it owns pairing while it runs: sudo systemctl stop \
            bluetooth

            EXAMPLES:
              ble oob
              ble oob --json
            """)

    @OptionGroup var scoped: ScopedOptions<OutOfBandScope>

    func validate() throws {
        guard [.on, .limited].contains(scoped.common.privacy) else { return }
        throw ValidationError(
            "Out-of-band data contains the adapter's address, so the adapter must not use private addresses: --privacy off"
        )
    }

    func run() async throws {
        let common = scoped.common
        try await common.run("ble oob") { console in
            let data = try await common.withAdapter(console) { adapter in try await adapter.makeOutOfBandData() }
            console.show(data)
        }
    }
}

extension Console {
    fileprivate func show(_ data: OutOfBandData) {
        guard isJSON else {
            // Unbroken, so that they can be copied.
            for (title, value) in [
                ("address", data.address.map { "\($0.digits) (\($0.kind))" } ?? "unknown"),
                ("confirmation", data.confirmation.bytes.hexadecimal), ("random", data.random.bytes.hexadecimal),
                ("text", data.text), ("NFC", data.nfcMessage.hexadecimal),
            ] { result(Array("\(title)\(String(repeating: " ", count: 14 - title.count))\(value)\n".utf8)) }
            return
        }
        result([
            ("event", .string("oob")), ("address", JSONValue(data.address.map(\.digits))),
            ("addressType", JSONValue(data.address.map { "\($0.kind)" })),
            ("confirmation", .string(data.confirmation.bytes.hexadecimal)),
            ("random", .string(data.random.bytes.hexadecimal)), ("text", .string(data.text)),
            ("nfc", .string(data.nfcMessage.hexadecimal)),
        ])
    }
}

/// The out-of-band data of `--oob`: the text itself, or a file with the text, AD structures or an NFC message.
/// - Throws: ``ProgramError``; the message does not contain the data.
func outOfBandData(_ argument: String) async throws -> OutOfBandData {
    let source = "The other device shows or stores its data; for another machine with ble: ble oob"
    let problem: BluetoothError
    do throws(BluetoothError) {
        return try OutOfBandData(text: argument)
    } catch {
        problem = error
    }
    // What begins like the text of a code is no name of a file.
    guard !argument.uppercased().hasPrefix("BLE-OOB:") else {
        throw ProgramError(.usage, problem.message, remedy: source)
    }
    let bytes = try await SecretArgument.contents(
        of: argument, "--oob takes the text of a code", problem: problem.message, remedy: source)
    do throws(BluetoothError) {
        if let text = String(validating: bytes, as: UTF8.self), let data = try? OutOfBandData(text: text) {
            return data
        }
        return try OutOfBandData(bytes)
    } catch {
        throw ProgramError(.badData, "\(printable(argument)): \(error.message)")
    }
}
