import BluetoothLE
import BluetoothAdvertising
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The signals of devices at the adapters of a group, as its scans have received them.
struct SignalTable {
    /// A signal at one adapter.
    struct Signal: Hashable, Sendable {
        var member: Int
        var rssi: Int?
        var time: KernelInstant
    }

    /// The time after which a signal says nothing about the present.
    static let validity = Duration.seconds(30)
    /// The maximum number of devices.
    private static let capacity = 4096

    private(set) var devices = RecentlyUsed<[Signal]>(limit: capacity)

    /// Records a signal of a device.
    mutating func record(_ signal: Signal, of address: BluetoothAddress) {
        let (index, _) = devices.use(AdvertisementJoiner.key(address, nil), orInsert: [])
        devices[index].record(signal)
    }

    /// Removes the signals at an adapter that has left the group.
    mutating func remove(_ member: Int) {
        for index in 0..<devices.count { devices[index].removeAll { $0.member == member } }
    }

    /// The latest RSSI of a device at an adapter; nil if it was not received lately.
    func rssi(of address: BluetoothAddress, at member: Int, now: KernelInstant) -> Int? {
        guard let index = devices.index(of: AdvertisementJoiner.key(address, nil)),
            let signal = devices[index].first(where: { $0.member == member }),
            signal.time.duration(to: now) < Self.validity
        else { return nil }
        return signal.rssi
    }
}

extension [SignalTable.Signal] {
    /// Replaces the earlier signal at the same adapter.
    mutating func record(_ signal: SignalTable.Signal) {
        if let index = firstIndex(where: { $0.member == signal.member }) {
            self[index] = signal
        } else {
            append(signal)
        }
    }
}
