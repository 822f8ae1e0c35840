import ArgumentParser
import BluetoothLE

/// What the devices of a scan are sorted by.
public enum DeviceSort: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// The RSSI, the strongest first.
    case rssi
    /// The name; devices without one are last.
    case name
    /// The time of the first report.
    case seen
    /// The address.
    case address
}

/// The order of the devices in a table that is redrawn.
///
/// RSSI varies by several dB from one report to the next. So a device keeps its place until its mean RSSI differs by 5 dB
/// from the one that it was placed by, and one device in 40 moves in a second, at least one.
public struct DeviceOrder: Sendable {
    private struct Key: Hashable {
        var address: BluetoothAddress?
        var advertisingSetID: UInt8?
    }

    private static let hysteresis = 5.0

    private let sort: DeviceSort
    /// The RSSI that each device was placed by.
    private var levels: [Key: Double] = [:]
    private var lastMove: ContinuousClock.Instant?

    /// An order for a new table.
    public init(_ sort: DeviceSort) {
        self.sort = sort
    }

    /// The devices in their order at a time.
    public mutating func arrange(
        _ devices: [DeviceTable.Device], _ resolver: IdentityResolver? = nil, at time: ContinuousClock.Instant = .now
    ) -> [DeviceTable.Device] {
        let found = devices.map { device in
            let key = Key(address: device.latest.address, advertisingSetID: device.latest.advertisingSetID)
            return (device: device, key: key, mean: device.history.meanRSSI ?? -.infinity)
        }
        // Without those that the table has removed.
        let former = levels
        levels = Dictionary(found.map { ($0.key, former[$0.key] ?? $0.mean) }) { first, _ in first }
        if lastMove.map({ time - $0 >= .seconds(1) }) ?? true {
            let drifts = found.map { (key: $0.key, mean: $0.mean, drift: abs($0.mean - (levels[$0.key] ?? $0.mean))) }
            let moved = drifts.filter { $0.drift >= Self.hysteresis }.sorted { $0.drift > $1.drift }
                .prefix(max(1, devices.count / 40))
            for (key, mean, _) in moved { levels[key] = mean }
            if !moved.isEmpty { lastMove = time }
        }
        return found.sorted { rank($0.device, $0.key, resolver) < rank($1.device, $1.key, resolver) }.map(\.device)
    }

    private func rank(
        _ device: DeviceTable.Device, _ key: Key, _ resolver: IdentityResolver?
    ) -> (Double, String, KernelInstant, BluetoothAddress) {
        let (first, address) = (device.history.first, key.address ?? .zero)
        switch sort {
        case .rssi: return (-(levels[key] ?? -.infinity), "", first, address)
        case .name:
            let name = device.name(resolver)
            return (name.isEmpty ? 1 : 0, name.lowercased(), first, address)
        case .seen: return (0, "", first, address)
        case .address: return (0, "", KernelInstant(nanoseconds: 0), address)
        }
    }
}
