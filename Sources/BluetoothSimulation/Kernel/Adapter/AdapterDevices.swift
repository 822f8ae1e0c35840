import BluetoothHCI
import BluetoothManagement

/// The devices that programs have added to an adapter, and the commands about single devices.
final class AdapterDevices {
    private unowned let adapter: SimulatedAdapter
    /// The devices to which the kernel connects automatically.
    private(set) var autoConnected: [BluetoothAddress] = []
    /// The devices of Add Device, with any action.
    private var added: [ManagementAddress] = []

    init(adapter: SimulatedAdapter) {
        self.adapter = adapter
    }

    func getConnections(for request: ManagementRequest) {
        guard adapter.isRunning else { return request.fail(.notPowered) }
        let linked = adapter.connections.all.filter { $0.end != nil }
        request.complete(ManagementList(linked.map { ManagementAddress($0.peer) }))
    }

    func disconnect(_ device: ManagementAddress, for request: ManagementRequest) {
        guard adapter.isRunning else { return request.fail(.notPowered, device) }
        guard let connection = adapter.connections.connection(with: device.address) else {
            return request.fail(.disconnected, device)
        }
        guard connection.requestEnd({ request.complete(device) }) else { return request.fail(.busy, device) }
        if let end = connection.end {
            adapter.perform(HCIDisconnect(end.handle, reason: .remoteUserTerminatedConnection))
        } else {
            adapter.connections.cancel(connection, error: .connectionReset)
        }
    }

    func getConnectionInformation(_ device: ManagementAddress, for request: ManagementRequest) {
        let none = ConnectionInformation(
            address: device, rssi: nil, transmitPower: nil, maximumTransmitPower: nil)
        guard adapter.isRunning else { return request.fail(.notPowered, none) }
        guard let end = adapter.connections.connection(with: device.address)?.end else {
            return request.fail(.notConnected, none)
        }
        request.complete(
            ConnectionInformation(
                address: device, rssi: end.other.side.node.signalStrength, transmitPower: 0,
                maximumTransmitPower: nil))
    }

    func add(_ device: ManagementAddress, _ action: AddDeviceAction, for request: ManagementRequest) {
        guard action.rawValue <= AddDeviceAction.autoConnect.rawValue, device.isLowEnergy,
            device.address.kind == .public || device.address.randomKind == .static
        else { return request.fail(.invalidParameters, device) }
        if !added.contains(device) { added.append(device) }
        autoConnected.removeAll { $0 == device.address }
        if action == .autoConnect { autoConnected.append(device.address) }
        adapter.connections.updatePassiveScan()
        request.complete(device)
        adapter.send(ManagementDeviceAdded(device, action), skipping: request.socket)
    }

    func remove(_ device: ManagementAddress, for request: ManagementRequest) {
        if device == .any {
            (autoConnected, added) = ([], [])
        } else {
            guard added.contains(device) else { return request.fail(.invalidParameters, device) }
            autoConnected.removeAll { $0 == device.address }
            added.removeAll { $0 == device }
        }
        adapter.connections.updatePassiveScan()
        request.complete(device)
        adapter.send(ManagementDeviceRemoved(device), skipping: request.socket)
    }
}
