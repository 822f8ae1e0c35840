import ArgumentParser
import BluetoothLE

/// The options common to the commands that connect to a device, accepted before and after the subcommand.
public typealias CommonOptions = ScopedOptions<DeviceScope>

/// The scope of commands that connect to a device: all options have a meaning.
public enum DeviceScope: OptionScope {
    /// All.
    public static let groups = OptionGroups(rawValue: .max)
    /// Some commands do.
    public static let allowsSeveralAdapters = true
}

extension CommonOptions {
    /// Whether to run on the simulated radio.
    public var simulate: Bool { adapterOptions.simulate }

    /// The file with the devices of a simulated radio.
    public var world: String? { adapterOptions.world }

    /// The adapter's name, index or address.
    public var adapter: String? { adapterOptions.adapter }

    /// The message of a command that uses one adapter.
    static var oneAdapter: String {
        "This command uses one adapter. Only scans and links can use several, or all: ble scan, explore, read, write, notify, "
            + "rssi, params, and linble send, exchange, terminal, bridge. Name one: -i hci0"
    }

    /// Rejects the options of a device and its link, for what concerns an adapter alone.
    /// - Parameter option: the option that says so.
    public func validateWithoutDevice(_ option: String) throws {
        guard !usesSeveralAdapters else {
            throw ValidationError("\(option) concerns one adapter. Name it: -i hci0")
        }
        let own: OptionGroups = [.adapter, .opening, .bonds, .trace]
        guard let needless = given.first(where: { own.isDisjoint(with: $0.group) })?.option else { return }
        throw ValidationError(
            "\(option) concerns the adapter: it goes with -i, not with "
                + (["--name", "--address"].contains(needless) ? "-n or -a." : "\(needless)."))
    }

    /// Whether several adapters are chosen, which few commands can use.
    public var usesSeveralAdapters: Bool { adapterOptions.namesSeveral }

    /// The device's name, or a part of it.
    public var name: String? {
        get { named.name }
        set { named.name = newValue }
    }

    /// The device's address.
    public var address: String? {
        get { addressed.address }
        set { addressed.address = newValue }
    }

    /// Chooses the device with an address of a known type.
    public mutating func setDevice(_ address: BluetoothAddress) {
        addressed.address = address.digits
        addressed.addressType = address.kind == .public ? .public : .random
    }

    /// The type of the address.
    public var addressType: AddressTypeOption { addressed.addressType }

    /// The device to choose if several match.
    public var pick: PickOption? { choosing.pick }

    /// How long to look for the device.
    public var findTime: Duration { .seconds(finding.findTime ?? 10) }

    /// Whether to use LE Coded.
    public var coded: Bool { longRange.coded }

    /// The time limit of the connection and each response, in seconds.
    public var timeout: Double? {
        get { response.timeout }
        set { response.timeout = newValue }
    }

    /// The security level required of the link.
    public var security: SecurityOption? { protection.security }

    /// The passkey for pairing, or a file with it; ``pairingPasskey()`` reads it.
    public var passkey: String? { protection.passkey }

    /// Whether a passkey is not required of a device that cannot show one.
    var acceptsJustWorks: Bool { protection.justWorks }

    /// The level that a link must have; nil if none is requested. A passkey authenticates, or promises nothing.
    public var requiredLevel: SecurityLevel? {
        guard passkey != nil else { return security?.level }
        return max(security?.level ?? .low, acceptsJustWorks ? .medium : .high)
    }

    /// The minimum size of the link's encryption key in bytes; nil for the library's.
    public var minimumKeySize: Int? { keySize.minimum }

    /// Whether results are JSON Lines.
    public var json: Bool { output.json }

    /// Whether to power on an adapter that is off.
    public var powerOn: Bool { opening.powerOn }

    /// The privacy of this machine's own address.
    public var privacy: PrivacyMode? { opening.privacy?.mode }

    /// Whether colours are switched off.
    public var noColor: Bool { output.noColor }

    /// The file to record packets in.
    public var trace: String? { capture.trace }

    /// Whether the trace may replace an existing file.
    public var force: Bool { capture.force }

    /// The directory of the bond store.
    public var bonds: String? { bondOptions.bonds }

    /// The number of times -v was given.
    public var verbose: Int { output.verbose }

    /// Whether the trace goes to standard output, so that results go to standard error.
    var tracesToStandardOutput: Bool { capture.tracesToStandardOutput }

    /// The --timeout value, or `standard` without one.
    public func timeout(or standard: Duration) -> Duration {
        timeout.map { .seconds($0) } ?? standard
    }
}

extension CommonOptions {
    /// The same as those of a step.
    public var ofStep: CommonOptions {
        var options = self
        options.isStep = true
        return options
    }

    /// The options of a step: its device, its times and its protection, and the rest from the command line that runs it.
    public func inheriting(_ session: CommonOptions) -> CommonOptions {
        var options = session.ofStep
        (options.named, options.addressed, options.identified) = (named, addressed, identified)
        (options.choosing, options.finding) = (choosing, finding)
        options.longRange.coded = longRange.coded || session.longRange.coded
        options.response.timeout = timeout ?? session.timeout
        options.protection.security = security ?? session.security
        options.protection.passkey = passkey ?? session.passkey
        options.protection.justWorks = protection.justWorks || passkey == nil && session.protection.justWorks
        options.keySize.minimum = keySize.minimum ?? session.keySize.minimum
        options.output.json = json || session.json
        return options
    }

    /// Rejects the options that a step cannot have, since the steps share an adapter and its capture.
    public func validateStep() throws {
        let shared = given.first { !$0.group.isDisjoint(with: [.adapter, .opening, .bonds, .trace]) }?.option
        let input = passkey == "-" ? "--passkey -" : identified.irk == "-" ? "--irk -" : nil
        guard let option = shared ?? input else { return }
        throw ValidationError("\(option) has no meaning for a step. It belongs before the steps.")
    }
}

/// Groups of common options.
public struct OptionGroups: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int

    /// A set of these bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The device's name.
    public static let name = OptionGroups(rawValue: 1)
    /// The device's address and its type.
    public static let address = OptionGroups(rawValue: 128)
    /// The device's identity resolving key.
    public static let identity = OptionGroups(rawValue: 1024)
    /// The choice among devices.
    public static let choosing = OptionGroups(rawValue: 2)
    /// The time to look for a device.
    public static let finding = OptionGroups(rawValue: 256)
    /// LE Coded.
    public static let longRange = OptionGroups(rawValue: 512)
    /// The time limit of responses.
    public static let timeout = OptionGroups(rawValue: 4)
    /// The protection of links.
    public static let security = OptionGroups(rawValue: 8)
    /// The size of encryption keys.
    public static let keySize = OptionGroups(rawValue: 2048)
    /// Powering on.
    public static let opening = OptionGroups(rawValue: 16)
    /// The store of bonds.
    public static let bonds = OptionGroups(rawValue: 32)
    /// The capture of packets.
    public static let trace = OptionGroups(rawValue: 64)
    /// The adapter, which every command has.
    static let adapter = OptionGroups(rawValue: 4096)
}

/// The common options that have a meaning for some commands.
public protocol OptionScope: Sendable {
    /// What -n names.
    associatedtype Name: NamingOptions = NameOptions
    /// The groups besides the adapter and the output, which all commands have.
    static var groups: OptionGroups { get }
    /// What replaces --timeout, as an option with its value or a sentence; nil if nothing does.
    static var insteadOfTimeout: String? { get }
    /// Whether several adapters can be used as one.
    static var allowsSeveralAdapters: Bool { get }
}

extension OptionScope {
    /// `--for`, which the commands without responses have.
    public static var insteadOfTimeout: String? { "--for" }
    /// False.
    public static var allowsSeveralAdapters: Bool { false }
}

/// The common options of a command. Those that have no meaning for it are absent from its help, and rejected where they
/// would promise something; ``common`` contains all. Each group is a type of its own, whose values a subcommand takes over
/// from the program.
public struct ScopedOptions<Scope: OptionScope>: ParsableArguments, Sendable {
    @OptionGroup(title: "Device", visibility: Self.visibility(.name)) var named: Scope.Name
    @OptionGroup(title: "Device", visibility: Self.visibility(.address)) var addressed: AddressOptions
    /// The device's identity resolving key.
    @OptionGroup(title: "Device", visibility: Self.visibility(.identity)) public var identified: IdentityOptions
    @OptionGroup(title: "Device", visibility: Self.visibility(.choosing)) var choosing: ChoosingOptions
    @OptionGroup(title: "Device", visibility: Self.visibility(.finding)) var finding: FindingOptions
    @OptionGroup(title: "Device", visibility: Self.visibility(.longRange)) var longRange: LongRangeOptions
    @OptionGroup(title: "Link", visibility: Self.visibility(.timeout)) var response: TimeoutOptions
    @OptionGroup(title: "Link", visibility: Self.visibility(.security)) var protection: ProtectionOptions
    @OptionGroup(title: "Link", visibility: Self.visibility(.keySize)) var keySize: KeySizeOptions
    @OptionGroup(title: "Adapter") var adapterOptions: AdapterOptions
    @OptionGroup(title: "Adapter", visibility: Self.visibility(.opening)) var opening: OpeningOptions
    @OptionGroup(title: "Adapter", visibility: Self.visibility(.bonds)) var bondOptions: BondOptions
    @OptionGroup(title: "Output") var output: OutputOptions
    @OptionGroup(title: "Output", visibility: Self.visibility(.trace)) var capture: TraceOptions
    /// Whether to ask a user about pairing when a device refuses an unprotected request.
    public var asksToPair = true
    /// Whether they are those of a step.
    fileprivate(set) var isStep = false

    /// The defaults.
    public init() {}

    private static func visibility(_ groups: OptionGroups) -> ArgumentVisibility {
        Scope.groups.isSuperset(of: groups) ? .default : .private
    }

    /// All common options.
    public var common: CommonOptions {
        var common = CommonOptions()
        (common.named, common.addressed, common.identified) = (named.parsed, addressed, identified)
        (common.choosing, common.finding, common.longRange) = (choosing, finding, longRange)
        (common.response, common.protection, common.keySize) = (response, protection, keySize)
        (common.adapterOptions, common.opening, common.bondOptions) = (adapterOptions, opening, bondOptions)
        (common.output, common.capture) = (output, capture)
        return common
    }

    /// Rejects an option that has no meaning for the command.
    public mutating func validate() throws {
        if adapterOptions.namesSeveral, !Scope.allowsSeveralAdapters { throw ValidationError(CommonOptions.oneAdapter) }
        let meaningful = Scope.groups.union(.adapter)
        guard let (option, group) = given.first(where: { !meaningful.isSuperset(of: $0.group) }) else { return }
        var hint = ""
        if group == .timeout, let seconds = response.timeout, let option = Scope.insteadOfTimeout {
            hint = " --timeout limits the responses of a device. Use \(option) \(formatShortly(seconds))."
        }
        throw ValidationError("\(option) has no meaning for this command.\(hint)")
    }

    /// The options that are given, with their groups.
    private var given: [(option: String, group: OptionGroups)] {
        let all: [(String, OptionGroups, Bool)] = [
            ("--name", .name, named.parsed.name != nil), ("--address", .address, addressed.address != nil),
            ("--irk", .identity, identified.irk != nil), ("--pick", .choosing, choosing.pick != nil),
            ("--find-time", .finding, finding.findTime != nil), ("--coded", .longRange, longRange.coded),
            ("--address-type", .address, addressed.addressType != .auto),
            ("--simulate", .adapter, adapterOptions.simulate), ("--world", .adapter, adapterOptions.world != nil),
            ("--adapter", .adapter, adapterOptions.adapter != nil), ("--no-power-on", .adapter, !opening.powerOn),
            ("--privacy", .opening, opening.privacy != nil), ("--bonds", .bonds, bondOptions.bonds != nil),
            ("--trace", .trace, capture.trace != nil), ("--timeout", .timeout, response.timeout != nil),
            ("--security", .security, protection.security != nil),
            ("--passkey", .security, protection.passkey != nil), ("--min-key-size", .keySize, keySize.minimum != nil),
        ]
        return all.filter(\.2).map { ($0.0, $0.1) }
    }
}

/// A number of seconds without superfluous digits.
public func formatShortly(_ seconds: Double) -> String {
    formatDecimal(seconds, digits: seconds == seconds.rounded() ? 0 : 1)
}

/// The scope of commands without a device: they use the machine's adapters only.
public enum LocalScope: OptionScope {
    /// None.
    public static let groups: OptionGroups = []
    /// Nothing takes time.
    public static let insteadOfTimeout: String? = nil
}
