import BluetoothHCI
import BluetoothManagement
import BluetoothPrimitives

/// The entries of this process in the kernel's list of connection parameters of an adapter (Load Connection Parameters).
///
/// The kernel keeps the entry of a device to which a link was created, whatever list is loaded (Docs/LinuxKernel.md). So
/// an entry that ends is replaced by one with the adapter's defaults, and taken from the list only then.
struct InitialParameterList: AdapterTableValue, Sendable {
    private struct Entry {
        let id: ObjectIdentifier
        let peer: BluetoothAddress
        let parameters: LEConnectionParameters
    }

    private var entries: [Entry] = []
    /// The devices whose entries have ended and are to get the defaults.
    private(set) var ended: [BluetoothAddress] = []

    /// Whether the kernel's list need not differ from what it is.
    var isEmpty: Bool { entries.isEmpty && ended.isEmpty }

    /// Adds an entry; the newest of a device counts.
    mutating func add(_ parameters: LEConnectionParameters, for peer: BluetoothAddress, as id: ObjectIdentifier) {
        entries.append(Entry(id: id, peer: peer, parameters: parameters))
        ended.removeAll { $0 == peer }
    }

    /// Ends entries.
    mutating func remove(_ ids: Set<ObjectIdentifier>) {
        let removed = entries.filter { ids.contains($0.id) }
        entries.removeAll { ids.contains($0.id) }
        for peer in removed.map(\.peer) where !ended.contains(peer) && !entries.contains(where: { $0.peer == peer }) {
            ended.append(peer)
        }
    }

    /// Removes entries that no caller will replace.
    mutating func forget(_ ids: Set<ObjectIdentifier>) { entries.removeAll { ids.contains($0.id) } }

    /// The list to load: one entry for each device, and at least two, since the kernel replaces its list with no fewer.
    func whole(defaults: LEConnectionParameters) -> [DeviceConnectionParameters] {
        var peers: [BluetoothAddress] = []
        var list: [DeviceConnectionParameters] = []
        for entry in entries.reversed() where !peers.contains(entry.peer) {
            peers.append(entry.peer)
            list.append(DeviceConnectionParameters(address: entry.peer, entry.parameters))
        }
        list += ended.map { DeviceConnectionParameters(address: $0, defaults) }
        let nobody = DeviceConnectionParameters(address: .zero, .kernelDefaults)
        return list + Array(repeating: nobody, count: max(0, 2 - list.count))
    }

    /// Records that the entries of devices that had ended have been replaced, or that the kernel refuses it.
    mutating func replaced(_ peers: [BluetoothAddress]) { ended.removeAll { peers.contains($0) } }
}

extension LEConnectionParameters {
    /// Those of an adapter whose defaults were not changed (`hci_alloc_dev_priv`).
    static let kernelDefaults = LEConnectionParameters(
        intervalMinimum: 24, intervalMaximum: 40, latency: 0, supervisionTimeout: 42)

    /// The defaults of an adapter (Read Default System Configuration); nil if they are not among the parameters.
    init?(_ defaults: [SystemParameter]) {
        func number(_ kind: SystemParameter.Kind) -> UInt16? { defaults.last { $0.kind == kind }?.number }
        guard let minimum = number(.connectionIntervalMinimum), let maximum = number(.connectionIntervalMaximum),
            let latency = number(.latency), let timeout = number(.supervisionTimeout)
        else { return nil }
        self.init(intervalMinimum: minimum, intervalMaximum: maximum, latency: latency, supervisionTimeout: timeout)
    }
}
