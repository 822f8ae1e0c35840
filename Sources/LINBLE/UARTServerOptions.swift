import BluetoothLE

/// Options of the UART that this machine offers.
public struct UARTServerOptions: Sendable {
    /// The advertised name. A LINBLE's default is `LINBLE-Z1`.
    public var name: String
    /// The UART's profile.
    public var profile: UARTProfile
    /// The security level required to use the UART: `.medium` is encrypted, as with pairing on in a LINBLE (`BTLA`);
    /// `.high` and above is authenticated, by comparing or entering numbers. The adapter needs an agent that allows
    /// such a pairing: for `.medium` such as `JustWorksPairingAgent`.
    public var security: SecurityLevel
    /// The minimum size of the encryption key in bytes, 7 to 16, where ``security`` requires one; nil as in
    /// `SecurityOptions`: 16 for pairings.
    public var minimumKeySize: Int?
    /// Whether the UART requires an encrypted link: whether ``security`` is `.medium` or more.
    public var requiresEncryption: Bool {
        get { security >= .medium }
        set { security = newValue ? max(security, .medium) : .low }
    }
    /// The ATT_MTU to accept, 23 to 517.
    public var maximumTransmissionUnit: Int
    /// The maximum size of a notification's value in bytes; nil leaves it to the ATT_MTU.
    public var maximumChunkLength: Int?
    /// The pacing of bytes sent to each central.
    public var pacing: UARTPacing
    /// The number of unread bytes of a central at which its link is ended with `overflow`.
    public var receiveCapacity: Int
    /// Whether one central is served at a time, as by a LINBLE. Advertising pauses while one is connected, and another
    /// that connects nevertheless waits for its turn.
    public var isExclusive: Bool
    /// The advertising parameters; by default a short interval, resumed when the adapter is back.
    public var advertising: AdvertisingOptions

    /// Creates options of a LINBLE, but for any number of centrals.
    public init(
        name: String = "LINBLE-Z1", profile: UARTProfile = .linble, requiresEncryption: Bool = false,
        maximumTransmissionUnit: Int = 517, maximumChunkLength: Int? = nil, pacing: UARTPacing = .unlimited,
        receiveCapacity: Int = 262_144, isExclusive: Bool = false,
        advertising: AdvertisingOptions = AdvertisingOptions(whenAdapterUnavailable: .resume),
        security: SecurityLevel = .low, minimumKeySize: Int? = nil
    ) {
        self.name = name
        self.profile = profile
        self.security = requiresEncryption ? max(security, .medium) : security
        self.minimumKeySize = minimumKeySize
        self.maximumTransmissionUnit = maximumTransmissionUnit
        self.maximumChunkLength = maximumChunkLength
        self.pacing = pacing
        self.receiveCapacity = receiveCapacity
        self.isExclusive = isExclusive
        self.advertising = advertising
    }
}

/// An event of the UART that this machine offers. An open set: each property is one thing that may happen, nil for the
/// others.
public struct UARTServerEvent: Sendable {
    package enum Kind: Sendable {
        case advertising(AdvertisingSet)
        case connected(Connection)
        case online(UARTCentral)
        case offline(UARTCentral, (any Error)?)
    }

    package let kind: Kind

    init(_ kind: Kind) { self.kind = kind }

    /// The set with which advertising has started.
    public var advertising: AdvertisingSet? { if case .advertising(let set) = kind { set } else { nil } }
    /// The link of a central that has connected.
    public var connected: Connection? { if case .connected(let connection) = kind { connection } else { nil } }
    /// A central that has subscribed, and is served.
    public var online: UARTCentral? { if case .online(let central) = kind { central } else { nil } }
    /// A central that is no longer served, with the error of serving it: mostly the link's end.
    public var offline: (central: UARTCentral, error: (any Error)?)? {
        if case .offline(let central, let error) = kind { (central, error) } else { nil }
    }
}

extension UARTServerEvent: CustomStringConvertible {
    /// The kind of event, with what it carries.
    public var description: String { "\(kind)" }
}
