import BluetoothLE

/// What kind of UART this machine offers, and how.
public struct UARTServerOptions: Sendable {
    /// The name that is advertised. A LINBLE that nobody has named is called `LINBLE-Z1`.
    public var name: String
    /// What the UART is to those that come.
    public var profile: UARTProfile
    /// How well a link has to be protected to use the UART: `.medium` is encrypted, as when pairing is on in a LINBLE
    /// (`BTLA`); `.high` and above is authenticated, after numbers were compared or entered. The adapter needs an agent
    /// that lets devices pair so: for `.medium` such as `JustWorksPairingAgent`.
    public var security: SecurityLevel
    /// Whether only a link that is encrypted may use the UART: whether ``security`` is `.medium` or more.
    public var requiresEncryption: Bool {
        get { security >= .medium }
        set { security = newValue ? max(security, .medium) : .low }
    }
    /// The ATT_MTU to agree to, 23 to 517.
    public var maximumTransmissionUnit: UInt16
    /// The most bytes in one notification; nil leaves it to the ATT_MTU.
    public var maximumChunkLength: Int?
    /// How fast bytes are sent to each central.
    public var pacing: UARTPacing
    /// How many bytes of each central wait to be read before the link is ended with `overflow`.
    public var receiveCapacity: Int
    /// Whether one central is served at a time, as by a LINBLE. Nothing is advertised while one is connected, and one that
    /// comes all the same waits for its turn.
    public var isExclusive: Bool
    /// How it is advertised: often, and again when the adapter is back.
    public var advertising: AdvertisingOptions

    /// A LINBLE, but for any number of centrals.
    public init(
        name: String = "LINBLE-Z1", profile: UARTProfile = .linble, requiresEncryption: Bool = false,
        maximumTransmissionUnit: UInt16 = 517, maximumChunkLength: Int? = nil, pacing: UARTPacing = .unlimited,
        receiveCapacity: Int = 262_144, isExclusive: Bool = false,
        advertising: AdvertisingOptions = AdvertisingOptions(whenAdapterLeaves: .resume),
        security: SecurityLevel = .low
    ) {
        self.name = name
        self.profile = profile
        self.security = requiresEncryption ? max(security, .medium) : security
        self.maximumTransmissionUnit = maximumTransmissionUnit
        self.maximumChunkLength = maximumChunkLength
        self.pacing = pacing
        self.receiveCapacity = receiveCapacity
        self.isExclusive = isExclusive
        self.advertising = advertising
    }
}

/// What happens at a UART that this machine offers.
public enum UARTServerEvent: Sendable {
    /// It is on the air.
    case advertising(AdvertisingSet)
    /// A device has connected.
    case connected(Connection)
    /// It has subscribed, and is served.
    case online(UARTCentral)
    /// It is no longer served, with what serving it threw: mostly why the link ended.
    case offline(UARTCentral, (any Error)?)
}
