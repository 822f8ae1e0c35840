import BluetoothPrimitives
import BluetoothHCI

/// How to advertise.
public struct AdvertisingOptions: Hashable, Sendable {
    /// What scanners may do with the advertisement.
    public enum Kind: Hashable, Sendable {
        /// Connect to it. In the legacy format they may ask for the scan response as well.
        case connectable
        /// Ask for the scan response.
        case scannable
        /// Listen.
        case nonConnectable
    }

    /// The packets that are sent.
    public enum Format: Hashable, Sendable {
        /// Those of Bluetooth 4, which every scanner hears: 31 bytes, and 31 of scan response.
        case legacy
        /// Those of Bluetooth 5: up to 251 bytes through the kernel, sent on this PHY; what announces them is sent on LE
        /// 1M, or on LE Coded where that is the PHY. Connectable ones have no scan response, and scannable ones nothing
        /// else, so that everything goes there.
        case extended(LEPHY)
    }

    /// What scanners may do with it.
    public var kind: Kind
    /// The packets that are sent.
    public var format: Format
    /// How often: 20 ms to 10.24 s, and in the extended format up to 10 485 s. The controller chooses within the range.
    /// Controllers before Bluetooth 5 refuse less than 100 ms for what takes no connections.
    public var interval: ClosedRange<Duration>
    /// The power to send with in dBm, −127 to 20; the controller takes the nearest that it has. Nil leaves it the choice.
    public var transmitPower: Int?
    /// Whether it goes on while a device is connected that found this machine by it, so that others can connect as well.
    ///
    /// A connection ends a connectable advertisement. The kernel begins it again when the link has ended; with this it is
    /// begun again at once, as far as the controller can advertise while it has links.
    public var continuesWhileConnected = true
    /// What becomes of it when the adapter is powered off, blocked or unplugged; at first it ends with the reason.
    public var whenAdapterLeaves = AdapterLeavePolicy.end

    /// Options with the usual choices: connectable, in the legacy format, every 100 to 150 ms.
    public init(
        kind: Kind = .connectable, format: Format = .legacy,
        interval: ClosedRange<Duration> = .milliseconds(100) ... .milliseconds(150), transmitPower: Int? = nil,
        continuesWhileConnected: Bool = true, whenAdapterLeaves: AdapterLeavePolicy = .end
    ) {
        self.kind = kind
        self.format = format
        self.interval = interval
        self.transmitPower = transmitPower
        self.continuesWhileConnected = continuesWhileConnected
        self.whenAdapterLeaves = whenAdapterLeaves
    }
}
