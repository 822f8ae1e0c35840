import ArgumentParser
import BluetoothLE

/// What the devices of a scan are sorted by: the RSSI, the strongest first, the name, the time of the first report, or the
/// address.
public enum DeviceSort: String, ExpressibleByArgument, CaseIterable, Sendable {
    case rssi, name, seen, address
}

/// The order of the devices in a table that is redrawn.
///
/// RSSI varies by several dB from one report to the next. So a device keeps its place until its mean RSSI differs by 5 dB
/// from the one that it was placed by, and one device in 40 moves in a second, at least one.
public struct DeviceOrder: Sendable {
    private static let hysteresis = 5.0

    private let sort: DeviceSort
    /// The RSSI that each device was placed by.
    private var levels: [BluetoothAddress: Double] = [:]
    private var lastMove: ContinuousClock.Instant?

    /// An order for a new table.
    public init(_ sort: DeviceSort) {
        self.sort = sort
    }

    /// The devices in their order at a time.
    public mutating func arrange(
        _ devices: [DeviceTable.Device], _ resolver: IdentityResolver? = nil, at time: ContinuousClock.Instant = .now
    ) -> [DeviceTable.Device] {
        let found = devices.map { ($0.latest.address ?? .zero, $0.history.meanRSSI ?? -.infinity) }
        let means = Dictionary(found, uniquingKeysWith: max)
        // Without those that the table has removed.
        levels = means.merging(levels.filter { means[$0.key] != nil }) { _, level in level }
        if lastMove.map({ time - $0 >= .seconds(1) }) ?? true {
            let drifts = means.merging(levels) { abs($0 - $1) }.filter { $0.value >= Self.hysteresis }
            let moved = drifts.sorted { $0.value > $1.value }.prefix(max(1, devices.count / 40))
            for (address, _) in moved { (levels[address], lastMove) = (means[address], time) }
        }
        return devices.sorted { rank($0, resolver) < rank($1, resolver) }
    }

    private func rank(
        _ device: DeviceTable.Device, _ resolver: IdentityResolver?
    ) -> (Double, String, KernelInstant, BluetoothAddress) {
        let (first, address) = (device.history.first, device.latest.address ?? .zero)
        switch sort {
        case .rssi: return (-(levels[address] ?? -.infinity), "", first, address)
        case .name:
            let name = device.name(resolver)
            return (name.isEmpty ? 1 : 0, name.lowercased(), first, address)
        case .seen: return (0, "", first, address)
        case .address: return (0, "", KernelInstant(nanoseconds: 0), address)
        }
    }
}
