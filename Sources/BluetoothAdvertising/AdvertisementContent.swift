import BluetoothPrimitives

/// What a device is to say about itself while it advertises: typed values, of which payloads are made within a budget.
///
/// ```swift
/// let content = AdvertisementContent(localName: "Thermometer", services: [0x1809])
/// ```
///
/// What comes first has the first claim on the advertising payload. What does not fit whole goes into the scan response,
/// then a name is shortened and a list of services cut and marked as incomplete; what still has no room is an error, or
/// left out and told, by ``overflow``.
public struct AdvertisementContent: Hashable, Sendable {
    /// Whether a device looks for company (Core Vol 3 Part C §9.2); said by the flags, which need not be given.
    public enum Discoverability: Hashable, Sendable {
        /// Nothing is said: there are no flags, and their three bytes are free. Usual for beacons, and for connections
        /// between devices that know each other.
        case none
        /// For a short while, at a user's wish.
        case limited
        /// For as long as it advertises.
        case general
    }

    /// What becomes of values that have no room in either payload.
    public enum Overflow: Hashable, Sendable {
        /// They are an error.
        case refuse
        /// They are left out, and told in ``AdvertisingPayloads/leftOver``.
        case leaveOut
    }

    /// Whether the device looks for company.
    public var discoverability: Discoverability
    /// What to say, in the order of importance. Neither flags nor a transmit power that ``includesTransmitPower`` asks for.
    public var fields: [ADField]
    /// What to say only to those who ask, before anything of ``fields`` goes there.
    public var scanResponse: [ADField]
    /// Whether to say the power the packets are sent with; the system fills it in.
    public var includesTransmitPower: Bool
    /// What may be done with a field that does not fit whole into the advertising payload.
    public var arrangement = AdvertisingPayloads.Options.all
    /// What becomes of values that have no room.
    public var overflow = Overflow.refuse

    /// Content made of fields, in the order of importance.
    public init(
        fields: [ADField], scanResponse: [ADField] = [], includesTransmitPower: Bool = false,
        discoverability: Discoverability = .general
    ) {
        self.fields = fields
        self.scanResponse = scanResponse
        self.includesTransmitPower = includesTransmitPower
        self.discoverability = discoverability
    }

    /// Content made of what is usual; services have the first claim, since scanners filter by them, the name comes after
    /// the data.
    ///
    /// - Parameters:
    ///   - localName: the device's name.
    ///   - services: the services it has, each in the shortest form of its UUID.
    ///   - manufacturerData: data in formats of companies.
    ///   - serviceData: data in formats of services.
    ///   - appearance: what the device looks like.
    ///   - solicitedServices: the services it looks for in others.
    ///   - includesTransmitPower: whether to say the power the packets are sent with.
    ///   - discoverability: whether it looks for company.
    public init(
        localName: String? = nil, services: [BluetoothUUID] = [], manufacturerData: [ManufacturerData] = [],
        serviceData: [ServiceData] = [], appearance: Appearance? = nil, solicitedServices: [BluetoothUUID] = [],
        includesTransmitPower: Bool = false, discoverability: Discoverability = .general
    ) {
        var fields: [ADField] = []
        if !services.isEmpty { fields.append(.services(services)) }
        fields += serviceData.map { .serviceData($0) } + manufacturerData.map { .manufacturerData($0) }
        if let localName { fields.append(.localName(localName)) }
        if let appearance { fields.append(.appearance(appearance)) }
        if !solicitedServices.isEmpty { fields.append(.solicitedServices(solicitedServices)) }
        self.init(fields: fields, includesTransmitPower: includesTransmitPower, discoverability: discoverability)
    }

    /// How many bytes of the advertising payload the system needs for the flags and the transmit power.
    public var automaticByteCount: Int { (discoverability == .none ? 0 : 3) + (includesTransmitPower ? 3 : 0) }

    /// The payloads of this content without what the system adds.
    ///
    /// - Parameters:
    ///   - capacity: the bytes there are for what is sent unasked.
    ///   - scanResponseCapacity: the bytes there are for the answer to a scan request; 0 where there is none.
    /// - Throws: ``AdvertisementDataError`` about the first value that has no room, unless ``overflow`` leaves it out, and
    ///   about values that cannot be written or are given twice.
    public func payloads(
        capacity: Int, scanResponseCapacity: Int
    ) throws(AdvertisementDataError) -> AdvertisingPayloads {
        for field in fields + scanResponse {
            switch field {
            case .flags: throw .alreadyPresent(.flags)
            case .txPowerLevel where includesTransmitPower: throw .alreadyPresent(.txPowerLevel)
            default: break
            }
        }
        let payloads = AdvertisingPayloads(
            fields, scanResponse: scanResponse, capacity: capacity, scanResponseCapacity: scanResponseCapacity,
            options: arrangement)
        for rest in payloads.leftOver {
            if case .doesNotFit = rest.reason, overflow == .leaveOut { continue }
            throw rest.reason
        }
        return payloads
    }
}
