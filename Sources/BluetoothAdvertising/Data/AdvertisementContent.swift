import BluetoothPrimitives

/// The content of an advertisement as typed values, from which payloads of limited size are built.
///
/// ```swift
/// let content = AdvertisementContent(localName: "Thermometer", services: [0x1809])
/// ```
///
/// Earlier fields have priority in the advertising payload. A field that does not fit there goes into the scan
/// response; otherwise a name is shortened, and a list of services is truncated and marked as incomplete. ``overflow``
/// determines whether a field without room is an error, or left out and reported.
public struct AdvertisementContent: Hashable, Sendable {
    /// The discoverability of a device (Core Vol 3 Part C §9.2), which the automatically added flags declare.
    public enum Discoverability: Hashable, Sendable {
        /// Non-discoverable: no flags, whose three bytes are free. Usual for beacons, and between bonded devices.
        case none
        /// Limited discoverable, for a short time after a user's action.
        case limited
        /// General discoverable, as long as the device advertises.
        case general
    }

    /// The treatment of fields that fit into neither payload.
    public enum Overflow: Hashable, Sendable {
        /// They are an error.
        case refuse
        /// They are left out, and reported in `AdvertisingPayloads.leftOver`.
        case leaveOut
    }

    /// The discoverability.
    public var discoverability: Discoverability
    /// The fields in the order of priority, without flags, and without a transmit power if ``includesTransmitPower`` is
    /// set.
    public var fields: [ADField]
    /// The fields of the scan response, which precede those of ``fields`` there.
    public var scanResponse: [ADField]
    /// Whether the payload includes the transmit power, which the system inserts.
    public var includesTransmitPower: Bool
    /// The permitted treatments of a field that does not fit into the advertising payload.
    public var arrangement = AdvertisingPayloads.Options.all
    /// The treatment of fields that fit into neither payload.
    public var overflow = Overflow.refuse

    /// Content with the given fields, in the order of priority.
    public init(
        fields: [ADField], scanResponse: [ADField] = [], includesTransmitPower: Bool = false,
        discoverability: Discoverability = .general
    ) {
        self.fields = fields
        self.scanResponse = scanResponse
        self.includesTransmitPower = includesTransmitPower
        self.discoverability = discoverability
    }

    /// Content with common fields. Services have priority, since scanners filter by them; the name follows the data.
    ///
    /// - Parameters:
    ///   - localName: The device name.
    ///   - services: The UUIDs of the device's services, each sent in its shortest width.
    ///   - manufacturerData: Manufacturer specific data.
    ///   - serviceData: Data of services.
    ///   - appearance: The appearance of the device.
    ///   - solicitedServices: The UUIDs of services that the device solicits.
    ///   - includesTransmitPower: Whether to include the transmit power.
    ///   - discoverability: The discoverability.
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

    /// The number of bytes in the advertising payload that the system needs for the flags and the transmit power.
    public var automaticByteCount: Int { (discoverability == .none ? 0 : 3) + (includesTransmitPower ? 3 : 0) }

    /// The payloads of this content, without the fields that the system adds.
    ///
    /// - Parameters:
    ///   - capacity: The size of the advertising payload in bytes.
    ///   - scanResponseCapacity: The size of the scan response in bytes; 0 when there is none.
    /// - Throws: `AdvertisementDataError` for the first field without room unless ``overflow`` permits leaving it
    ///   out, and for a field that cannot be encoded or is repeated.
    public func payloads(
        capacity: Int, scanResponseCapacity: Int
    ) throws(AdvertisementDataError) -> AdvertisingPayloads {
        for field in fields + scanResponse {
            switch field.kind {
            case .flags: throw .alreadyPresent(.flags)
            case .txPowerLevel where includesTransmitPower: throw .alreadyPresent(.txPowerLevel)
            default: break
            }
        }
        let payloads = AdvertisingPayloads(
            fields, scanResponse: scanResponse, capacity: capacity, scanResponseCapacity: scanResponseCapacity,
            options: arrangement)
        for rest in payloads.leftOver {
            if case .doesNotFit = rest.reason.kind, overflow == .leaveOut { continue }
            throw rest.reason
        }
        return payloads
    }
}
