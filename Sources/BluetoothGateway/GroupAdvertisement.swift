import BluetoothLE
import BluetoothPrimitives
import BluetoothSockets

/// An advertising report that an ``AdapterGroup`` has received, with the device's signals at its adapters.
///
/// It has the properties of its advertisement, such as `localName`.
@dynamicMemberLookup
public struct GroupAdvertisement: ScanReport, Hashable {
    /// The signal of a device at one adapter.
    public struct Signal: Hashable, Sendable {
        /// The adapter's name, such as `hci0`.
        public var adapter: String
        /// The adapter's address.
        public var address: BluetoothAddress
        /// The latest RSSI in dBm; nil if the controller did not measure it.
        public var rssi: Int?
        /// The time of the latest report.
        public var time: KernelInstant

        /// Creates a signal from its parts.
        package init(adapter: String, address: BluetoothAddress, rssi: Int?, time: KernelInstant) {
            (self.adapter, self.address) = (adapter, address)
            (self.rssi, self.time) = (rssi, time)
        }
    }

    /// The report.
    public var advertisement: Advertisement
    /// The device's signals at all adapters that have received it during the scan, strongest first.
    public var signals: [Signal]

    /// Creates an advertisement from its parts.
    package init(advertisement: Advertisement, signals: [Signal]) {
        (self.advertisement, self.signals) = (advertisement, signals)
    }

    /// The strongest RSSI in dBm.
    public var rssi: Int? { signals.compactMap(\.rssi).max() }

    /// A property of the advertisement.
    public subscript<Value>(dynamicMember property: KeyPath<Advertisement, Value>) -> Value {
        advertisement[keyPath: property]
    }
}

extension GroupAdvertisement: CustomStringConvertible {
    /// The report, and the RSSI at each adapter.
    public var description: String {
        let list = signals.map { "\($0.adapter) \($0.rssi.map { "\($0) dBm" } ?? "unknown")" }
        return "\(advertisement) [\(list.joined(separator: ", "))]"
    }
}
