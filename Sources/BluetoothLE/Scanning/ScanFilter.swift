import BluetoothAdvertising
import BluetoothPrimitives

/// A filter of the advertisements that a scan delivers.
///
/// Conditions are combined with Swift's logical operators:
///
/// ```swift
/// .service("180D") && .rssi(atLeast: -70)
/// .name("LINBLE-Z1") || .name("LINBLE-Z2")
/// .manufacturer(.apple) && !.connectable
/// ```
///
/// A filter applies to a device's advertising data joined with its scan response. A device whose name or services are
/// only in the scan response passes once that is received, which requires an active scan. The two parts of `.service(…)
/// && .name(…)` may match in different payloads.
public struct ScanFilter: Sendable {
    fileprivate indirect enum Rule: Sendable {
        case all
        case service(BluetoothUUID)
        case solicited(BluetoothUUID)
        case serviceData(BluetoothUUID, [UInt8], mask: [UInt8]?)
        case name(String)
        case namePrefix(String)
        case nameContaining([UInt8], ignoringCase: Bool)
        case address(BluetoothAddress, anyKind: Bool)
        case identity(IdentityResolver)
        case rssi(Int)
        case manufacturer(CompanyIdentifier, [UInt8], mask: [UInt8]?)
        case connectable
        case predicate(@Sendable (Advertisement) -> Bool)
        case every([Rule])
        case any([Rule])
        case not(Rule)
    }

    private let rule: Rule

    private init(_ rule: Rule) {
        self.rule = rule
    }

    // MARK: Conditions

    /// All devices.
    public static let any = ScanFilter(.all)

    /// Devices that accept connections.
    public static let connectable = ScanFilter(.connectable)

    /// Devices that advertise a service UUID, in any width: 0x180D equals `0000180D-0000-1000-8000-00805F9B34FB`.
    public static func service(_ uuid: BluetoothUUID) -> ScanFilter { ScanFilter(.service(uuid)) }

    /// Devices that advertise at least one of the service UUIDs; no device if there are none.
    public static func services(_ uuids: [BluetoothUUID]) -> ScanFilter { ScanFilter(.any(uuids.map { .service($0) })) }

    /// Devices that solicit a service (Core Supplement Part A §1.10), in any width.
    public static func solicitedService(_ uuid: BluetoothUUID) -> ScanFilter { ScanFilter(.solicited(uuid)) }

    /// Devices that advertise service data of a UUID, in any width.
    /// - Parameters:
    ///   - uuid: the UUID of the service.
    ///   - data: the first bytes of the data, after the UUID.
    ///   - mask: the bits of `data` to compare. Bytes beyond its end are compared whole; nil compares all bits.
    public static func serviceData(
        _ uuid: BluetoothUUID, data: [UInt8] = [], mask: [UInt8]? = nil
    ) -> ScanFilter {
        ScanFilter(.serviceData(uuid, data, mask: mask))
    }

    /// Devices whose local name, complete or shortened, is exactly `name`.
    public static func name(_ name: String) -> ScanFilter { ScanFilter(.name(name)) }

    /// Devices whose local name begins with `prefix`.
    public static func namePrefix(_ prefix: String) -> ScanFilter { ScanFilter(.namePrefix(prefix)) }

    /// Devices whose local name contains `text`.
    /// - Parameters:
    ///   - text: the text. An empty text matches every device with a name, and none without.
    ///   - ignoringCase: whether ASCII letters match in either case.
    public static func nameContaining(_ text: String, ignoringCase: Bool = false) -> ScanFilter {
        let bytes = Array(text.utf8)
        return ScanFilter(.nameContaining(ignoringCase ? bytes.map(\.lowercased) : bytes, ignoringCase: ignoringCase))
    }

    /// The device with an address: for a bonded device with private addresses, its identity address. Anonymous
    /// advertisements never pass.
    /// - Parameters:
    ///   - address: the address.
    ///   - anyKind: whether a public and a random address with the same digits match.
    public static func address(_ address: BluetoothAddress, anyKind: Bool = false) -> ScanFilter {
        ScanFilter(.address(address, anyKind: anyKind))
    }

    /// The device with an identity resolving key, which need not be bonded, whatever its present address is.
    ///
    /// ``Advertisement/address`` is then the address on the air, unless the device is bonded.
    public static func identity(_ identity: DeviceIdentity) -> ScanFilter { .identities(IdentityResolver([identity])) }

    /// The devices of a resolver; ``IdentityResolver/identity(of:)-(Advertisement)`` returns which of them it is.
    ///
    /// Scans may share a resolver, and then compare each address with the keys once.
    public static func identities(_ resolver: IdentityResolver) -> ScanFilter { ScanFilter(.identity(resolver)) }

    /// Reports with at least the given RSSI in dBm. Reports without an RSSI never pass.
    public static func rssi(atLeast level: Int) -> ScanFilter { ScanFilter(.rssi(level)) }

    /// Devices that advertise manufacturer data of a company.
    /// - Parameters:
    ///   - company: the company.
    ///   - data: the first bytes of the data, after the company identifier.
    ///   - mask: the bits of `data` to compare. Bytes beyond its end are compared whole; nil compares all bits.
    public static func manufacturer(
        _ company: CompanyIdentifier, data: [UInt8] = [], mask: [UInt8]? = nil
    ) -> ScanFilter {
        ScanFilter(.manufacturer(company, data, mask: mask))
    }

    /// Advertisements for which a function returns true. It is called on the adapter's loop for every report that
    /// reaches its place in the filter, so it must be quick and must not block.
    public static func matching(_ condition: @escaping @Sendable (Advertisement) -> Bool) -> ScanFilter {
        ScanFilter(.predicate(condition))
    }

    // MARK: Combining

    /// Advertisements that pass all of the filters; every advertisement if there are no filters.
    public static func allOf(_ filters: [ScanFilter]) -> ScanFilter { ScanFilter(.every(filters.map(\.rule))) }

    /// Advertisements that pass at least one of the filters; none if there are no filters.
    public static func anyOf(_ filters: [ScanFilter]) -> ScanFilter { ScanFilter(.any(filters.map(\.rule))) }

    /// Advertisements that pass both filters. The right one is evaluated only if the left one passes.
    public static func && (left: ScanFilter, right: ScanFilter) -> ScanFilter { .allOf([left, right]) }

    /// Advertisements that pass either filter. The right one is evaluated only if the left one does not pass.
    public static func || (left: ScanFilter, right: ScanFilter) -> ScanFilter { .anyOf([left, right]) }

    /// Advertisements that do not pass the filter.
    public static prefix func ! (filter: ScanFilter) -> ScanFilter { ScanFilter(.not(filter.rule)) }

    // MARK: Matching

    /// Whether an advertisement passes the filter.
    public func matches(_ advertisement: Advertisement) -> Bool { rule.matches(advertisement) }

    /// Whether the result for a device is constant until its data changes.
    var dependsOnDataOnly: Bool { rule.dependsOnDataOnly }

    /// Whether the result for an advertisement is open because its address was not compared with the keys of an identity.
    func isPostponed(_ advertisement: borrowing Advertisement) -> Bool { rule.isPostponed(advertisement) }
}

extension ScanFilter.Rule {
    func matches(_ advertisement: borrowing Advertisement) -> Bool {
        switch self {
        case .all: return true
        case .service(let uuid): return advertisement.data.containsService(uuid)
        case .solicited(let uuid): return advertisement.data.solicitsService(uuid)
        case .serviceData(let uuid, let data, let mask):
            return advertisement.data.inEither {
                $0.containsServiceData(of: uuid, startingWith: data, mask: mask)
            }
        case .name(let name): return advertisement.data.inEither { $0.localName(equals: name) }
        case .namePrefix(let prefix): return advertisement.data.inEither { $0.localName(hasPrefix: prefix) }
        case .nameContaining(let text, let ignoringCase):
            return advertisement.data.inEither { $0.localName(contains: text, ignoringCase: ignoringCase) }
        case .address(let wanted, let anyKind):
            guard let address = advertisement.address else { return false }
            return anyKind ? address.value == wanted.value : address == wanted
        case .identity(let resolver): return resolver.identity(of: copy advertisement) != nil
        case .rssi(let level): return advertisement.rssi.map { $0 >= level } ?? false
        case .manufacturer(let company, let data, let mask):
            return advertisement.data.inEither {
                $0.containsManufacturerData(of: company, startingWith: data, mask: mask)
            }
        case .connectable: return advertisement.isConnectable
        case .predicate(let condition): return condition(copy advertisement)
        case .every(let rules): return rules.allSatisfy { $0.matches(advertisement) }
        case .any(let rules): return rules.contains { $0.matches(advertisement) }
        case .not(let rule): return !rule.matches(advertisement)
        }
    }

    func isPostponed(_ advertisement: borrowing Advertisement) -> Bool {
        switch self {
        case .identity(let resolver): return resolver.isPostponed(advertisement)
        case .every(let rules), .any(let rules): return rules.contains { $0.isPostponed(advertisement) }
        case .not(let rule): return rule.isPostponed(advertisement)
        default: return false
        }
    }

    var dependsOnDataOnly: Bool {
        switch self {
        case .rssi, .predicate: return false
        case .every(let rules), .any(let rules): return rules.allSatisfy(\.dependsOnDataOnly)
        case .not(let rule): return rule.dependsOnDataOnly
        default: return true
        }
    }
}

extension AdvertisementData {
    /// Whether a condition holds for the structures of the advertising payload or for those of the scan response.
    fileprivate func inEither(_ condition: (ADStructures) -> Bool) -> Bool {
        condition(advertisingStructures) || (!scanResponse.isEmpty && condition(scanResponseStructures))
    }
}

extension UInt8 {
    /// The lowercase letter of an uppercase ASCII letter; other bytes unchanged.
    fileprivate var lowercased: UInt8 { 0x41...0x5A ~= self ? self | 0x20 : self }
}
