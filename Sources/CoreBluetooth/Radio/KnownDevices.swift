import BluetoothLE
import BluetoothPrimitives

/// What the program's managers have learnt about devices.
struct KnownDevices {
    /// The maximum number of names.
    private static let nameLimit = 1024

    /// The devices connected by any manager, with their services as far as they are known.
    var connected: [BluetoothAddress: Set<BluetoothUUID>] = [:]
    private var names: [BluetoothAddress: (text: String, isRead: Bool)] = [:]
    /// The devices with names, in the order in which their names became known.
    private var named = RingBuffer<BluetoothAddress>()

    /// Records a device's name, in place of that of the device that has been known for longest if there are too many.
    /// - Parameter isRead: whether it was read from its attribute.
    mutating func setName(_ name: String, of address: BluetoothAddress, isRead: Bool) {
        // What was read stays, whatever is advertised later.
        if !isRead, names[address]?.isRead == true { return }
        guard names.updateValue((name, isRead), forKey: address) == nil else { return }
        named.append(address)
        if named.count > Self.nameLimit, let oldest = named.popFirst() { names[oldest] = nil }
    }

    /// A device's name, and whether it was read from its attribute; nil if none is known.
    func name(of address: BluetoothAddress) -> (text: String, isRead: Bool)? { names[address] }
}
