import BluetoothAdvertising
import BluetoothLE

extension Table {
    /// The table of a scan's devices, in their order.
    ///
    /// A narrow terminal omits columns, but never the name, and keeps the services' UUIDs whole if it has room for them.
    /// - Parameters:
    ///   - resolver: the devices that are shown under the names of their keys, each once.
    ///   - keys: the keys of sensors.
    ///   - width: the terminal's width in cells; nil for a table that is not cut.
    ///   - isOnce: whether there is one report of each device, which has no graph and no interval.
    public init(
        of devices: [DeviceTable.Device], _ resolver: IdentityResolver? = nil, _ keys: SensorKeys = SensorKeys(),
        width: Int?, isOnce: Bool = false
    ) {
        let rows = devices.map { Self.cells(of: $0, resolver, keys) }
        let columns = [
            Column("ADDRESS"), Column("TYPE", omission: 1), Column("RSSI", .right), Column("", omission: 3),
            Column("ADV", .right, omission: 2), Column("NAME", minimum: Self.maximumName),
            Column("SERVICES / DATA", omission: 4, minimum: Self.minimum(for: rows, width), cutsBetweenWords: true),
        ]
        let shown = columns.indices.filter { !isOnce || !(3...4).contains($0) }
        self.init(shown.map { columns[$0] })
        for row in rows { add(shown.map { row[$0] }) }
    }

    /// A legacy advertisement has room for a name of 29 bytes.
    private static let maximumName = 29

    private static func cells(
        of device: DeviceTable.Device, _ resolver: IdentityResolver?, _ keys: SensorKeys
    ) -> [String] {
        let latest = device.latest
        let interval = device.history.advertisingInterval.map { "\(Int(($0 / .milliseconds(1)).rounded()))ms" }
        let strengths = device.history.rssi.suffix(8).map(Double.init)
        return [
            latest.address?.digits ?? "(anonymous)", latest.address.map { "\($0.kind)" } ?? "",
            latest.rssi.map { "\($0)" } ?? "", sparkline(strengths, in: signalStrengths), interval ?? "",
            printable(device.name(resolver)),
            latest.data.contents(of: latest.address, keys).joined(separator: ", "),
        ]
    }

    /// The width of the services for which other columns are omitted: that of the longest first piece, if the name
    /// leaves it.
    private static func minimum(for rows: [[String]], _ width: Int?) -> Int {
        let least = 16
        guard let width else { return least }
        let name = min(maximumName, rows.map { cellWidth($0[5]) }.max() ?? 0)
        let address = rows.map { cellWidth($0[0]) }.max() ?? 0
        let room = width - [address, 4, max(4, name)].reduce(0) { $0 + $1 + 2 }
        let longest = rows.map { row in
            row[6].split(separator: ", ").first.map { first in
                // With the ellipsis for what follows.
                cellWidth(first) + (first.endIndex == row[6].endIndex ? 0 : 2)
            } ?? 0
        }
        return max(least, min(longest.max() ?? 0, room, uncutLength))
    }
}

extension DeviceTable.Device {
    /// The name of the device's key, or the advertised one; empty without either.
    func name(_ resolver: IdentityResolver?) -> String {
        resolver?.identity(of: latest)?.name ?? latest.data.localName ?? ""
    }
}

extension [DeviceTable.Device] {
    /// The devices, most recently received first, without the former addresses of devices with a key.
    public func current(_ resolver: IdentityResolver?) -> [DeviceTable.Device] {
        guard let resolver else { return self }
        var seen: Set<String> = []
        return filter { device in
            guard let identity = resolver.identity(of: device.latest) else { return true }
            // Advertising sets with one address are different.
            return seen.insert("\(identity.name) \(device.latest.advertisingSetID ?? 255)").inserted
        }
    }
}
