import BluetoothKernel
import BluetoothPrimitives
import HCI

enum StubEvent { case indexAdded, indexRemoved }
final class ManagementSocketState: SocketState {
    init(kernel: HostKernel, handler: @escaping SocketHandler) { super.init(world: kernel.world, handler: handler) }
}
extension HostKernel {
    func sendEvent(_ event: StubEvent, adapter: UInt16) {}
}
extension Adapter {
    func securityChanged(_ end: LinkEnd) {}
    func settingsChanged(skipping: SocketState?) {}
    func deviceConnected(_ connection: HostConnection) {}
    func deviceDisconnected(_ connection: HostConnection, reason: HCIStatus) {}
}
struct Discovery {
    var isOn = false
    func stop(on: Adapter, isTold: Bool) {}
    func resume(on: Adapter) {}
    func heard(_ a: BluetoothAddress, _ advertiser: Advertiser, isResponse: Bool, rssi: Int8, on: Adapter) {}
}
struct AdvertisingInstances {
    func resume(on: Adapter) {}
}
struct KeyStore {
    var connectionParameters: [BluetoothAddress: LEConnectionParameters] = [:]
    func linkEnded(_ connection: HostConnection, on: Adapter) {}
}
final class Pairing {
    func linkEnded() -> ErrorNumber? { nil }
}
extension HostConnection {
    func raiseSecurity(to level: SecurityLevel) {}
}
