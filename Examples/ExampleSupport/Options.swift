import ArgumentParser
import BluetoothLE
import BluetoothPrimitives
import Glibc

/// How a device's address kind is chosen on the command line.
public enum AddressTypeOption: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// What the device's advertisements say.
    case auto
    /// Assigned by the IEEE.
    case `public`
    /// Made up by the device.
    case random

    /// The kind, or nil when it is to be found out.
    public var kind: BluetoothAddress.Kind? {
        switch self {
        case .auto: nil
        case .public: .public
        case .random: .random
        }
    }
}

/// The options that every program takes, before or after the subcommand.
public struct CommonOptions: ParsableArguments, Sendable {
    /// Whether to run on the simulated radio.
    @Flag(help: "Run on a simulated radio with a LINBLE and some beacons; needs no Bluetooth at all.")
    public var simulate = false

    /// Which adapter.
    @Option(name: [.customShort("i"), .long], help: "The adapter: hci0, 0 or its address. Without it, the first one.")
    public var adapter: String?

    /// The device's name.
    @Option(name: [.short, .long], help: "The device's advertised name.")
    public var name: String?

    /// The device's address.
    @Option(name: [.short, .long], help: "The device's address, such as C0:98:E5:12:34:56.")
    public var address: String?

    /// The kind of the address.
    @Option(help: "The kind of the address: auto (take it from the advertisement), public or random.")
    public var addressType = AddressTypeOption.auto

    /// How long it may take, in seconds.
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "How long to search for the device and wait for each response, or to scan, advertise or serve.",
            valueName: "seconds"))
    public var timeout: Double?

    /// How well a link has to be protected.
    @Option(
        help: ArgumentHelp(
            "The security level that the link must have: low, encrypted, authenticated or secure-connections; pairs if necessary.",
            valueName: "level"))
    public var security: SecurityOption?

    /// The number to pair with.
    @Option(
        help: ArgumentHelp("The passkey for pairing, which the device shows or has printed on it.", valueName: "digits")
    )
    public var passkey: String?

    /// Whether results are JSON Lines.
    @Flag(help: "Print results as JSON Lines.")
    public var json = false

    /// Whether an adapter that is off is powered on.
    @Flag(
        inversion: .prefixedNo, exclusivity: .chooseLast,
        help: "Power the adapter on if it is off; it stays on afterwards.")
    public var powerOn = true

    /// Whether colours are forbidden.
    @Flag(help: "No colours. They are also off with NO_COLOR, TERM=dumb, and where the output is no terminal.")
    public var noColor = false

    /// Where packets are recorded.
    @Option(
        help: ArgumentHelp(
            "Record packets in a new file for Wireshark and btmon: with CAP_NET_RAW those of all adapters, otherwise this program's own. The file can be a pipe; - is standard output, and results then go to standard error.",
            valueName: "file"))
    public var trace: String?

    /// Whether the file of the trace replaces one that is there.
    @Flag(help: "Replace the file that --trace names, if it exists.")
    public var force = false

    /// Where bonds are kept.
    @Option(
        help: ArgumentHelp(
            "Store the bonds in this directory. Without it: /var/lib/swift-bluetooth-le/bonds for root, else ~/.local/state/swift-bluetooth-le/bonds.",
            valueName: "directory"))
    public var bonds: String?

    /// How often -v was given.
    @Flag(name: [.short, .long], help: "Print what the program does; twice: in detail.")
    public var verbose: Int

    /// The defaults.
    public init() {}

    /// Refuses what cannot be meant.
    public mutating func validate() throws {
        if let timeout, !(timeout > 0 && timeout <= 1_000_000) {
            throw ValidationError("--timeout takes a number of seconds above 0.")
        }
        if let adapter, AdapterSelector(adapter) == nil {
            throw ValidationError("--adapter takes hci0, 0 or an address, not '\(adapter)'.")
        }
        if let passkey, Passkey(digits: passkey) == nil {
            throw ValidationError("--passkey takes one to six digits.")
        }
        if let address, BluetoothAddress(address) == nil {
            throw ValidationError("--address takes six pairs of digits with colons, not '\(address)'.")
        }
        if tracesToStandardOutput, isatty(STDOUT_FILENO) == 1 {
            throw ValidationError("A trace is no text for a terminal: --trace - needs a pipe or a file to go to.")
        }
    }

    /// Whether the packets are recorded to standard output, which results then keep out of.
    var tracesToStandardOutput: Bool {
        trace.map { ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains($0) } ?? false
    }

    /// The time given with --timeout, or `standard`.
    public func timeout(or standard: Duration) -> Duration {
        timeout.map { .seconds($0) } ?? standard
    }
}
