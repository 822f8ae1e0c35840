import ArgumentParser
import BluetoothLE
import ExampleSupport

struct PairCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Pair with a device.",
        discussion: """
            Asks on the terminal whether the numbers match (numeric comparison), or for the passkey that the device \
            shows. --passkey supplies the passkey, and only pairings that use it are accepted; without it and without \
            a terminal, only Just Works is possible.

            --oob takes out-of-band data, which the device has sent by other means than Bluetooth and which \
            authenticates it without asking anybody: the text of a QR code that begins with BLE-OOB:, hexadecimal digits, \
            or a file (- for standard input) with either of these, with AD structures or with the message of an NFC \
            tag. If the data contains the device's address, you need not name the device.

            Needs CAP_NET_ADMIN. bluetoothd must be stopped, since it owns pairing while it runs: sudo systemctl stop \
            bluetooth

            EXAMPLES:
              ble pair Pulse-Z1
              ble pair C0:98:E5:12:34:58 --passkey pin.txt
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(help: "The device's name or address, as with -n or -a.")
    var device: String?

    @Option(
        help: ArgumentHelp(
            "Pair with the device's out-of-band data: the text of a code, or a file. \(SecretArgument.help)",
            valueName: "text|file"),
        completion: .file())
    var oob: String?

    var isPairing: Bool { true }

    /// The device's data, once read.
    private var data: OutOfBandData?

    private enum CodingKeys: CodingKey { case common, link, device, oob }

    var inputs: [String?] { [oob] }

    mutating func prepare() async throws {
        common = try common.naming(device)
        if let oob {
            guard common.passkey == nil else {
                throw ProgramError(.usage, "Out-of-band data needs no passkey: give either --oob or --passkey.")
            }
            let data = try await outOfBandData(oob)
            self.data = data
            if common.name == nil, common.address == nil, common.identified.irk == nil, let address = data.address {
                common.setDevice(address)
            }
        }
        if common.security == .low {
            throw ProgramError(
                .usage, "Pairing protects the link: --security takes encrypted, authenticated or secure-connections.")
        }
    }

    func perform(on connection: Connection, _ console: Console) async throws {
        let outcome =
            if let data {
                try await connection.pair(with: data, timeout: common.timeout(or: .seconds(60)))
            } else {
                try await connection.pair(
                    to: common.requiredLevel ?? .medium, timeout: common.timeout(or: .seconds(60)))
            }
        // The name is stored with the bond.
        if outcome.isBonded { _ = try? await connection.readValues(of: .deviceName, timeout: .seconds(5)) }
        console.show(outcome, with: connection.peer)
        guard outcome.isBonded else {
            throw ProgramError(
                .protocolError, "The link is encrypted, but no bond was stored.",
                remedy: "The device may not create bonds, or only in its pairing mode: activate that, and try again.")
        }
    }
}

extension CommonOptions {
    /// The options with the name or the address given as an argument.
    func naming(_ device: String?) throws -> CommonOptions {
        guard let device else { return self }
        guard address == nil, name == nil else { throw ProgramError(.usage, "Name the device only once.") }
        guard !device.isEmpty else {
            throw ProgramError(.usage, "The device must be a name, a part of one or an address, not an empty text.")
        }
        var common = self
        if BluetoothAddress(device, kind: .public) == nil {
            common.name = device
        } else {
            common.address = device
        }
        return common
    }
}

extension Console {
    fileprivate func show(_ outcome: PairingOutcome, with peer: BluetoothAddress) {
        let security = outcome.security
        result(
            "paired", "paired with \(peer.digits): \(security), \(outcome.isBonded ? "bonded" : "not bonded")",
            [
                ("address", .string(peer.digits)), ("addressType", .string("\(peer.kind)")),
                ("security", .string("\(security.level)")), ("keySize", .integer(security.keySize)),
                ("bonded", .bool(outcome.isBonded)),
            ])
    }
}
