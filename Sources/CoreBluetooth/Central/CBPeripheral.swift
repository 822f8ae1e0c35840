import BluetoothATT
import BluetoothLE
public import Foundation

/// A peripheral that a central manager has discovered or retrieved.
///
/// Each manager has one object for a device, and the program must retain it: when the last reference is released, the
/// connection or the attempt ends, which is logged as `API MISUSE` and not reported to the delegate. After
/// ``CBCentralManager/cancelPeripheralConnection(_:)`` the program may release it at once.
//
// Sendable unchecked: the delegate and the state are locked.
open class CBPeripheral: CBPeer, @unchecked Sendable {
    let handle: PeripheralHandle
    private struct Observer { weak var delegate: (any CBPeripheralDelegate)? }
    private let observer = Locked(Observer())

    init(_ address: BluetoothAddress, of central: CentralHandle) {
        handle = PeripheralHandle(address, of: central)
        super.init(address)
        handle.shared { $0.peripheral = self }
    }

    deinit {
        handle.drop(description)
    }

    /// The receiver of events; not retained.
    open var delegate: (any CBPeripheralDelegate)? {
        get { observer { $0.delegate } }
        set { observer { $0.delegate = newValue } }
    }

    /// The device's name, as last reported by it; nil before.
    open var name: String? { handle.shared { $0.information.name } }

    /// The last RSSI read.
    open var rssi: NSNumber? { handle.shared { $0.information.rssi.map { NSNumber(value: $0) } } }

    /// The state of the connection.
    open var state: CBPeripheralState { handle.shared { $0.connectionRequest.state } }

    /// The services discovered so far; nil before, and after a disconnection.
    open var services: [CBService]? { handle.shared { $0.database.services } }

    /// Whether a write without response is accepted now. After it was false, the ``CBPeripheralDelegate`` is called
    /// when it is true again.
    open var canSendWriteWithoutResponse: Bool { handle.canSend }

    /// Always false on Linux.
    open var ancsAuthorized: Bool { false }

    /// Whether an attribute belongs to this peripheral, as far as that is known; otherwise the call is logged as
    /// misuse. A handle means another attribute on each device.
    private func isOwn(_ service: CBService?, for call: String = #function) -> Bool {
        guard let owner = service?.peripheral, owner !== self else { return true }
        misuse("\(call) has no effect: the attribute is \(owner)'s.")
        return false
    }

    private func request(_ request: PeripheralRequest, of service: CBService?, call: String = #function) {
        if isOwn(service, for: call) { handle.request(request, call) }
    }

    /// Reads the RSSI of the link.
    open func readRSSI() { handle.request(.readRSSI) }

    /// Discovers all services, or those with the given UUIDs; without Generic Access and Generic Attribute unless
    /// ``CBLinux/showsGenericServices`` is true.
    open func discoverServices(_ serviceUUIDs: [CBUUID]?) {
        handle.request(.discoverServices(serviceUUIDs.uuids))
    }

    /// Discovers the services that a service includes: all, or those that are given.
    open func discoverIncludedServices(_ includedServiceUUIDs: [CBUUID]?, for service: CBService) {
        request(.discoverIncludedServices(includedServiceUUIDs.uuids, service), of: service)
    }

    /// Discovers the characteristics of a service: all, or those that are given.
    open func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
        request(.discoverCharacteristics(characteristicUUIDs.uuids, service), of: service)
    }

    /// Discovers the descriptors of a characteristic.
    open func discoverDescriptors(for characteristic: CBCharacteristic) {
        request(.discoverDescriptors(characteristic), of: characteristic.service)
    }

    /// Reads a value, in as many requests as it takes.
    open func readValue(for characteristic: CBCharacteristic) {
        request(.read(characteristic), of: characteristic.service)
    }

    /// Reads a descriptor.
    open func readValue(for descriptor: CBDescriptor) {
        request(.readDescriptor(descriptor), of: descriptor.characteristic?.service)
    }

    /// The maximum length of a write in bytes: 512 with a response, in as many requests as it takes, and one packet's
    /// without; 0 while not connected.
    open func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
        handle.shared { shared in
            guard shared.connectionRequest.state == .connected else { return 0 }
            return type == .withResponse ? AttributeProtocol.maximumAttributeValueLength : shared.traffic.commandLength
        }
    }

    /// Writes a value.
    ///
    /// A value that is too long for one request or command is written in prepared parts.
    open func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType) {
        guard isOwn(characteristic.service) else { return }
        handle.write(Array(data), to: characteristic, type)
    }

    /// Writes a descriptor. The client characteristic configuration is refused: use ``setNotifyValue(_:for:)``.
    open func writeValue(_ data: Data, for descriptor: CBDescriptor) {
        request(.writeDescriptor(descriptor, Array(data)), of: descriptor.characteristic?.service)
    }

    /// Enables or disables notifications or indications of a value.
    open func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
        request(.setNotify(enabled, characteristic), of: characteristic.service)
    }

    /// Opens an L2CAP channel to the device.
    open func openL2CAPChannel(_ PSM: CBL2CAPPSM) {
        handle.request(.openChannel(PSM))
    }

    /// A description in one line.
    open override var description: String {
        "<\(Swift.type(of: self)): identifier = \(identifier), name = \(name ?? "(null)"), state = \(state)>"
    }
}

extension Optional where Wrapped == [CBUUID] {
    /// The UUIDs to discover; nil for all, which an empty list means as well.
    var uuids: [BluetoothUUID]? {
        guard let uuids = self, !uuids.isEmpty else { return nil }
        return uuids.map(\.bluetooth)
    }
}
