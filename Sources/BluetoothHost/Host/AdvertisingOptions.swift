import BluetoothPrimitives
import BluetoothHCI

/// The parameters of an advertising set.
public struct AdvertisingOptions: Hashable, Sendable {
    /// The kind of advertising, by what scanners may do.
    public enum Kind: Hashable, Sendable {
        /// Scanners may connect. In the legacy format they may request the scan response as well.
        case connectable
        /// Scanners may request the scan response.
        case scannable
        /// Scanners may only listen.
        case nonConnectable
    }

    /// The format of the advertising PDUs.
    public enum Format: Hashable, Sendable {
        /// Legacy PDUs of Bluetooth 4, which every scanner receives: 31 bytes, and 31 bytes of scan response.
        case legacy
        /// Extended PDUs of Bluetooth 5 on this PHY: up to 251 bytes through the kernel. The primary PHY is LE 1M, or
        /// LE Coded where that is the secondary PHY. A connectable set has no scan response; a scannable one has only a
        /// scan response, which carries all the data.
        case extended(LEPHY)
    }

    /// The kind of advertising.
    public var kind: Kind
    /// The format of the advertising PDUs.
    public var format: Format
    /// The advertising interval: 20 ms to 10.24 s, and in the extended format up to 10 485 s. The controller chooses
    /// within the range. Controllers before Bluetooth 5 refuse less than 100 ms for non-connectable advertising.
    public var interval: ClosedRange<Duration>
    /// The transmit power in dBm, −127 to 20; the controller takes the nearest it supports. Nil leaves the choice to
    /// it.
    public var transmitPower: Int?
    /// Whether advertising continues while a central that connected to it remains connected, so that others can connect
    /// as well.
    ///
    /// A connection ends connectable advertising. The kernel restarts it when the link has ended; with this option it
    /// is restarted at once, as far as the controller can advertise while it has links.
    public var continuesWhileConnected = true
    /// The policy for when the adapter is powered off, blocked or unplugged; ``AdapterUnavailablePolicy/end`` by default.
    public var whenAdapterUnavailable = AdapterUnavailablePolicy.end

    /// Creates options with the usual defaults: connectable, legacy format, every 100 to 150 ms.
    public init(
        kind: Kind = .connectable, format: Format = .legacy,
        interval: ClosedRange<Duration> = .milliseconds(100) ... .milliseconds(150), transmitPower: Int? = nil,
        continuesWhileConnected: Bool = true, whenAdapterUnavailable: AdapterUnavailablePolicy = .end
    ) {
        self.kind = kind
        self.format = format
        self.interval = interval
        self.transmitPower = transmitPower
        self.continuesWhileConnected = continuesWhileConnected
        self.whenAdapterUnavailable = whenAdapterUnavailable
    }
}
