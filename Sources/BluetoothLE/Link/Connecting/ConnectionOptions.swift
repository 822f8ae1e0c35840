import BluetoothSockets
import BluetoothPrimitives

/// The options of a connection.
public struct ConnectionOptions: Hashable, Sendable {
    /// The time limit for all attempts to establish the link together, and again for the exchange of the ATT_MTU; nil
    /// for none.
    public var timeout: Duration?
    /// The ATT_MTU to offer, 23 to 517 bytes; with 23 nothing is exchanged, for devices that do not answer the exchange.
    public var maximumTransmissionUnit: Int
    /// The number of attempts if the link fails to be established.
    public var attempts: Int
    /// Whether to wait for an adapter that is off, blocked or absent, within ``timeout``, instead of failing at once.
    public var waitsForAdapter: Bool
    /// The longest time to wait for the end of a link if the controller has no room for another; zero, the default, does
    /// not wait and throws `.linkLimitReached`; nil for no limit. This time is not part of ``timeout``: after it, an attempt has what
    /// remains of that, also one that is repeated because its link failed. All waits of a call together have this limit.
    ///
    /// Calls that wait get the room in their order, one that waits longer first, while its device answers within 8 s; one
    /// that does not wait throws while others do.
    public var slotTimeout: Duration?
    /// The number of enhanced bearers to open in addition, if the link is encrypted by then and the peer supports them;
    /// ``Connection/bearerCount`` has the result. See ``Connection/openEnhancedBearers(count:timeout:)``.
    public var enhancedBearers: Int
    /// The security of the link; by default that of the peer's bond, and without one none until the peer requires it.
    public var security: SecurityOptions
    /// The connection parameters from the first connection event on; nil for those of ``use``, or else the host's.
    ///
    /// This needs CAP_NET_ADMIN. Without it, and on an adapter where another program has the link already, they are
    /// requested once the link is up; that needs CAP_NET_RAW. A peer that refuses is no error:
    /// ``Connection/parameters`` has the result. On Linux the kernel's list of such parameters is replaced, also the
    /// entries of other programs; once the link is up, later ones to the device begin with the adapter's defaults again.
    public var parameters: ConnectionParameterRequest?
    /// The PHYs to request in both directions once the link is up; nil for those of ``use``, or else the controllers'
    /// own. Needs CAP_NET_RAW. A peer without them is no error.
    ///
    /// With LE Coded the device is looked for there as well, which finds one that advertises on LE Coded only; the link
    /// to it is on LE Coded from the beginning. A device that was heard there, such as an ``Advertisement``'s, is looked
    /// for there in any case. On Linux before 6.6 that needs CAP_NET_ADMIN, and changes the adapter's setting
    /// (`AdapterDefaults.phys`) until the link is up or has failed.
    ///
    /// A controller that lacks one of them makes the call throw `.unsupported`, if the program has CAP_NET_ADMIN;
    /// otherwise the link is as without them.
    public var phys: LEPHYSet?
    /// The data length to request once the link is up, 27 to 251 bytes; nil for that of ``use``, or else the
    /// controllers' own. Needs CAP_NET_RAW. A peer that supports less is no error.
    public var dataLength: Int?
    /// The use of the link, which chooses those of ``parameters``, ``phys`` and ``dataLength`` that are nil.
    public var use: ConnectionUse?
    /// The send buffer of the socket in bytes (`SO_SNDBUF`); nil leaves the kernel's default, about 200 kB.
    public var sendBuffer: Int?
    /// The receive buffer of the socket in bytes (`SO_RCVBUF`); nil leaves the kernel's default, about 200 kB.
    public var receiveBuffer: Int?
    /// Whether the device was heard on LE Coded, and must be looked for there.
    package var isHeardOnCoded = false
    /// The level to which the host encrypts the link automatically, that of the peer's bond key; nil without a bond.
    var bondLevel: SecurityLevel?
    /// The time limit for the exchange of the ATT_MTU, if it is not ``timeout``.
    package var attributeTimeout: Duration?
    /// Whether one of several adapters has heard the device just now, so that the others are about to.
    package var isJustHeard = false
    /// Whether the connect was admitted to room that others wait for.
    package var isAdmitted = false
    /// The time limit for finding a device by its key.
    package var searchLimit = SearchLimit.shared

    /// A time limit for finding a device.
    package enum SearchLimit: Hashable, Sendable {
        /// ``timeout`` is for finding the device and for connecting together.
        case shared
        /// This is for finding it, and ``timeout`` for connecting afterwards; nil for no limit.
        case own(Duration?)
    }

    /// Creates options with the defaults: 30 s, an ATT_MTU of 517, three attempts, no security, the host's link
    /// parameters, 1 MiB to receive into.
    public init(
        timeout: Duration? = .seconds(30), maximumTransmissionUnit: Int = 517, attempts: Int = 3,
        waitsForAdapter: Bool = false, slotTimeout: Duration? = .zero, enhancedBearers: Int = 0,
        security: SecurityOptions = SecurityOptions(), parameters: ConnectionParameterRequest? = nil,
        phys: LEPHYSet? = nil, dataLength: Int? = nil, use: ConnectionUse? = nil, sendBuffer: Int? = nil,
        receiveBuffer: Int? = 1 << 20
    ) {
        self.timeout = timeout
        self.maximumTransmissionUnit = min(max(maximumTransmissionUnit, 23), 517)
        self.attempts = attempts
        self.waitsForAdapter = waitsForAdapter
        self.slotTimeout = slotTimeout
        self.enhancedBearers = enhancedBearers
        self.security = security
        self.parameters = parameters
        self.phys = phys
        self.dataLength = dataLength
        self.use = use
        self.sendBuffer = sendBuffer
        self.receiveBuffer = receiveBuffer
    }

    /// These options after a search for the device that began at `start`, which ``timeout`` includes: a device found late
    /// still has a second to answer.
    func afterSearch(since start: KernelInstant, now: KernelInstant) -> ConnectionOptions {
        var options = self
        options.timeout = timeout.map { max($0 - start.duration(to: now), .seconds(1)) }
        return options
    }

    /// The longest wait for a slot, ten years for no limit; nil for a connect that does not wait.
    package var slotWait: Duration? {
        guard let slotTimeout else { return .seconds(10 * 365 * 86_400) }
        return slotTimeout > .zero ? slotTimeout : nil
    }

    /// Larger than any PDU, including those that a peer writes beyond the ATT_MTU, as Bumble does by up to 250 bytes.
    /// The host drops longer ones, after which the peer would seem to be silent.
    private static let receiveMTU: UInt16 = 1024

    /// The options of the attribute channel.
    var socketOptions: L2CAPOptions {
        // Only a bonded peer's link has a security level from the beginning, so that nothing is lost that arrives
        // meanwhile. Pairing begins once the link is established, so that its progress can be followed.
        L2CAPOptions(
            security: bondLevel, receiveMTU: Self.receiveMTU, sendBuffer: sendBuffer,
            receiveBuffer: receiveBuffer)
    }
}

extension ConnectionOptions {
    /// The options of a search for a device to connect to with these.
    package func search(_ filter: ScanFilter = .any, duplicates: DuplicatePolicy = .merge) -> ScanOptions {
        ScanOptions(
            filter: filter, duplicates: duplicates, coded: isHeardOnCoded || phys?.contains(.leCoded) == true)
    }

    /// The options for the device of an advertisement.
    package func hearing(_ advertisement: Advertisement) -> ConnectionOptions {
        var options = self
        options.isHeardOnCoded = options.isHeardOnCoded || advertisement.primaryPHY == .leCoded
        return options
    }
}

/// The security of a connection: the level it is raised to, and what happens when the peer requires more.
public struct SecurityOptions: Hashable, Sendable {
    /// The security level to raise the link to before the call returns; nil for none. If that fails, the call throws
    /// the error of ``Connection/raiseSecurity(to:timeout:)``.
    public var level: SecurityLevel?
    /// The policy for requests that the peer refuses because the link's security is insufficient.
    public var policy: SecurityPolicy
    /// The time limit for raising the security, after ``ConnectionOptions/timeout``; long enough for a user to find and
    /// enter a number. Nil for no limit but the 30 s of each step of pairing.
    public var timeout: Duration?
    /// The minimum size of the link's encryption key in bytes, 7 to 16 (Core Vol 3 Part H §2.3.4).
    ///
    /// The devices agree on the longest key that both support. If that is shorter, raising the security, for a level, a
    /// pairing or a refused request, fails with `PairingFailure.keyTooShort`: the link is closed, and the key is not
    /// stored. In either role, requests to local attributes that require encryption are refused with Insufficient
    /// Encryption Key Size (0x0C), whichever side has begun the pairing.
    ///
    /// Nil, the default, is 16 bytes for pairings, and the size of its key for a device that is bonded already. A device
    /// that supports no longer key needs a smaller number here.
    public var minimumKeySize: Int?
    /// Whether a link to a bonded peer stays unencrypted until the peer, or ``level``, requires encryption.
    ///
    /// By default the key of the bond encrypts such a link before ``Central/connect(to:options:)-(BluetoothAddress,_)``
    /// returns; a peer without it is refused with `PairingFailure.keyMissing`, since any device can have its address.
    /// This is for a device that has lost its keys and must be used nevertheless: what is read and written may be
    /// another device's, and others can read along.
    public var leavesBondedLinksUnencrypted: Bool

    /// Creates options with the defaults: no level above that of the peer's bond, 60 s, automatic pairing when the peer
    /// requires it, and pairings with keys of 16 bytes.
    public init(
        _ level: SecurityLevel? = nil, policy: SecurityPolicy = .automatic, timeout: Duration? = .seconds(60),
        minimumKeySize: Int? = nil, leavesBondedLinksUnencrypted: Bool = false
    ) {
        self.level = level
        self.policy = policy
        self.timeout = timeout
        self.minimumKeySize = minimumKeySize
        self.leavesBondedLinksUnencrypted = leavesBondedLinksUnencrypted
    }

    /// Throws `.invalidArgument` for a value outside its range.
    func check(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        if let minimumKeySize, !(7...16).contains(minimumKeySize) {
            throw .invalidArgument(
                operation, "The minimum size of an encryption key is 7 to 16 bytes, not \(minimumKeySize).")
        }
    }
}

/// The policy for attribute requests that the peer refuses because of insufficient security (Insufficient
/// Authentication, Encryption or Encryption Key Size; Core Vol 3 Part C §10.3.1).
public enum SecurityPolicy: Hashable, Sendable {
    /// Raises the link's security, pairing if necessary, and repeats the request. If this program cannot pair (it lacks
    /// CAP_NET_ADMIN and no daemon runs), the peer's error is thrown.
    case automatic
    /// As ``automatic``, after ``PairingAgent/confirmPairing(_:)`` if there is no key from an earlier pairing.
    case ask
    /// Throws the peer's error.
    case never
}

/// The outcome of a pairing.
public struct PairingOutcome: Hashable, Sendable {
    /// The link's present security.
    public var security: LinkSecurity
    /// Whether the key is stored, so that the next link needs no pairing: both sides must request bonding.
    public var isBonded: Bool

    /// Creates an outcome from its parts.
    package init(security: LinkSecurity, isBonded: Bool) {
        self.security = security
        self.isBonded = isBonded
    }
}
