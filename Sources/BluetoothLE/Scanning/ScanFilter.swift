import BluetoothAdvertising
import BluetoothPrimitives

/// Which advertisements a scan hands out.
///
/// Conditions are combined as conditions are in Swift:
///
/// ```swift
/// .service("180D") && .rssi(atLeast: -70)
/// .name("LINBLE-Z1") || .name("LINBLE-Z2")
/// .manufacturer(.apple) && !.connectable
/// ```
///
/// A filter looks at all that is known of a device: its advertising data joined with its scan response. A device whose
/// name or services come only in the scan response passes as soon as that was heard, which takes an active scan; what
/// it says in both counts together, so `.service(…) && .name(…)` finds one in each.
public struct ScanFilter: Sendable {
    fileprivate indirect enum Rule: Sendable {
        case all
        case service(BluetoothUUID)
        case solicited(BluetoothUUID)
        case serviceData(BluetoothUUID)
        case name(String)
        case namePrefix(String)
        case nameContaining([UInt8], ignoringCase: Bool)
        case address(BluetoothAddress, anyKind: Bool)
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

    /// Everybody.
    public static let all = ScanFilter(.all)

    /// Devices that can be connected to.
    public static let connectable = ScanFilter(.connectable)

    /// Devices that name a service, in whichever width: 0x180D is `0000180D-0000-1000-8000-00805F9B34FB`.
    public static func service(_ uuid: BluetoothUUID) -> ScanFilter { ScanFilter(.service(uuid)) }

    /// Devices that name at least one of these services; nobody when there are none.
    public static func services(_ uuids: [BluetoothUUID]) -> ScanFilter { ScanFilter(.any(uuids.map { .service($0) })) }

    /// Devices that look for a service in others (Core Supplement Part A §1.10), in whichever width.
    public static func solicitedService(_ uuid: BluetoothUUID) -> ScanFilter { ScanFilter(.solicited(uuid)) }

    /// Devices that have data of a service, in whichever width.
    public static func serviceData(_ uuid: BluetoothUUID) -> ScanFilter { ScanFilter(.serviceData(uuid)) }

    /// Devices whose local name, complete or shortened, is exactly this.
    public static func name(_ name: String) -> ScanFilter { ScanFilter(.name(name)) }

    /// Devices whose local name begins with this.
    public static func namePrefix(_ prefix: String) -> ScanFilter { ScanFilter(.namePrefix(prefix)) }

    /// Devices whose local name has this somewhere in it.
    /// - Parameters:
    ///   - text: what to look for; the empty text is in every name, but not in none.
    ///   - ignoringCase: whether `a` and `A` are the same; only the letters of ASCII are.
    public static func nameContaining(_ text: String, ignoringCase: Bool = false) -> ScanFilter {
        let bytes = Array(text.utf8)
        return ScanFilter(.nameContaining(ignoringCase ? bytes.map(\.lowercased) : bytes, ignoringCase: ignoringCase))
    }

    /// The device with an address; of a bonded one that hides behind private addresses, its identity. Anonymous
    /// advertisements never pass.
    /// - Parameters:
    ///   - address: the address.
    ///   - anyKind: whether a public and a random address with the same digits are the same.
    public static func address(_ address: BluetoothAddress, anyKind: Bool = false) -> ScanFilter {
        ScanFilter(.address(address, anyKind: anyKind))
    }

    /// Reports that were received at least so strongly, in dBm. Those of which the controller cannot tell never pass.
    public static func rssi(atLeast level: Int) -> ScanFilter { ScanFilter(.rssi(level)) }

    /// Devices with data of a company.
    /// - Parameters:
    ///   - company: whose data.
    ///   - data: how the data begins, after the company's number.
    ///   - mask: which bits of `data` count; bits beyond its end do, and nil is all.
    public static func manufacturer(
        _ company: CompanyIdentifier, data: [UInt8] = [], mask: [UInt8]? = nil
    ) -> ScanFilter {
        ScanFilter(.manufacturer(company, data, mask: mask))
    }

    /// Whatever a function says. It is called on the adapter's loop for every report that its place in the filter lets
    /// it see, so it has to be quick and must not wait.
    public static func matching(_ condition: @escaping @Sendable (Advertisement) -> Bool) -> ScanFilter {
        ScanFilter(.predicate(condition))
    }

    // MARK: Combining

    /// What passes all of the filters; everybody when there are none.
    public static func every(_ filters: [ScanFilter]) -> ScanFilter { ScanFilter(.every(filters.map(\.rule))) }

    /// What passes at least one of the filters; nobody when there are none.
    public static func any(_ filters: [ScanFilter]) -> ScanFilter { ScanFilter(.any(filters.map(\.rule))) }

    /// What passes both filters. The right one sees only what passes the left one.
    public static func && (left: ScanFilter, right: ScanFilter) -> ScanFilter { .every([left, right]) }

    /// What passes one of the filters. The right one sees only what does not pass the left one.
    public static func || (left: ScanFilter, right: ScanFilter) -> ScanFilter { .any([left, right]) }

    /// What does not pass the filter.
    public static prefix func ! (filter: ScanFilter) -> ScanFilter { ScanFilter(.not(filter.rule)) }

    // MARK: Using

    /// Whether an advertisement passes.
    public func matches(_ advertisement: Advertisement) -> Bool { rule.matches(advertisement) }

    /// Whether the answer for a device is the same until what it says changes.
    var dependsOnDataOnly: Bool { rule.dependsOnDataOnly }
}

extension ScanFilter.Rule {
    func matches(_ advertisement: borrowing Advertisement) -> Bool {
        switch self {
        case .all: return true
        case .service(let uuid): return advertisement.data.containsService(uuid)
        case .solicited(let uuid): return advertisement.data.solicitsService(uuid)
        case .serviceData(let uuid):
            return advertisement.data.inEither { $0.containsServiceData(of: uuid) }
        case .name(let name): return advertisement.data.inEither { $0.localName(equals: name) }
        case .namePrefix(let prefix): return advertisement.data.inEither { $0.localName(hasPrefix: prefix) }
        case .nameContaining(let text, let ignoringCase):
            return advertisement.data.inEither { $0.localName(contains: text, ignoringCase: ignoringCase) }
        case .address(let wanted, let anyKind):
            guard let address = advertisement.address else { return false }
            return anyKind ? address.value == wanted.value : address == wanted
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
    /// Whether something holds for the structures of the advertising payload or for those of the scan response.
    fileprivate func inEither(_ condition: (ADStructures) -> Bool) -> Bool {
        condition(advertisingStructures) || (!scanResponse.isEmpty && condition(scanResponseStructures))
    }
}

extension UInt8 {
    /// The small letter of a capital one of ASCII; anything else as it is.
    fileprivate var lowercased: UInt8 { 0x41...0x5A ~= self ? self | 0x20 : self }
}
