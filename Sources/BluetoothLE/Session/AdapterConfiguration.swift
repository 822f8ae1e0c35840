import BluetoothHost
import Logging

/// The configuration of an opened adapter: its bonds, its privacy, its recovery and its log.
public struct AdapterConfiguration: Sendable {
    /// The longest time to wait for a usable adapter, such as one that appears late while the machine boots or that
    /// is still blocked; zero, the default, does not wait, and nil is no limit.
    public var timeout: Duration?
    /// The source of the bonds. Their keys replace the kernel's keys, before the adapter is powered on where opening
    /// does that, so that bonded devices reconnect without pairing again; if CAP_NET_ADMIN is missing, or BlueZ's
    /// daemon is running, they are not loaded, and ``Adapter/bondStatus`` reports it.
    public var bonds: BondStorage
    /// The maximum number of bonds, and what happens when a device pairs at that limit.
    public var bondLimit: BondLimit
    /// Whether the adapter uses private addresses, which change and which only bonded devices can resolve (management
    /// `Set Privacy`), with a key that is stored with the bonds; nil leaves the setting unchanged.
    ///
    /// The kernel changes it only while the adapter is off, so a powered adapter is switched off and on for it, which
    /// ends the activity of other programs on it, unless it is opened with `PowerPolicy.leave`.
    public var privacy: PrivacyMode?
    /// What happens when the controller does not answer, or a scan no longer receives anything.
    public var recovery: RecoveryOptions
    /// The log, which receives PDUs and packets as `trace`, oddities as `debug`.
    public var log: Logger
    /// A capture of the adapter's source, which records the adapter's packets. Without one, `BLUETOOTH_TRACE=FILE`
    /// in the environment names a new file that records those of the machine's own kernel, or of `.environment`.
    public var trace: PacketTrace?

    /// Creates a configuration with the defaults: no waiting, bonds in files, recovery of the radio.
    public init(
        timeout: Duration? = .zero, bonds: BondStorage = .standard, bondLimit: BondLimit = BondLimit(),
        privacy: PrivacyMode? = nil, recovery: RecoveryOptions = RecoveryOptions(),
        log: Logger = Logger(label: "bluetooth.adapter"), trace: PacketTrace? = nil
    ) {
        self.timeout = timeout
        self.bonds = bonds
        self.bondLimit = bondLimit
        self.privacy = privacy
        self.recovery = recovery
        self.log = log
        self.trace = trace
    }
}
