import BluetoothSockets
import BluetoothLE
import BluetoothLoop
import Foundation
import Logging
import Synchronization

/// A program's request to a peripheral; each is answered by one callback, in the order of the requests.
enum PeripheralRequest: Sendable {
    case readRSSI
    case discoverServices([BluetoothUUID]?)
    case discoverIncludedServices([BluetoothUUID]?, CBService)
    case discoverCharacteristics([BluetoothUUID]?, CBService)
    case discoverDescriptors(CBCharacteristic)
    case read(CBCharacteristic)
    case readDescriptor(CBDescriptor)
    case write(CBCharacteristic, [UInt8])
    /// Has no callback.
    case writeCommand(RemoteCharacteristic, [UInt8])
    /// Too long for a command, and written in parts; has no callback.
    case writeLongCommand(RemoteCharacteristic, [UInt8])
    case writeDescriptor(CBDescriptor, [UInt8])
    case setNotify(Bool, CBCharacteristic)
    /// Unsubscribes, since the program has not processed its values in time.
    case stopNotifying(CBCharacteristic)
    case openChannel(CBL2CAPPSM)

    /// The lane of the queue in which it waits.
    var lane: PeripheralRequestQueue.Lane { if case .writeCommand = self { .commands } else { .requests } }
}

/// Options of a connection to a peripheral.
struct PeripheralConnectOptions: Sendable {
    var startDelay: Duration?
    var reconnects = false
}

/// The part of a ``CBPeripheral`` that any thread may use: the program's requests and the reported state.
///
/// The state that the program sees is in ``shared``, which changes on the callback queue, just before the delegate is
/// called.
final class PeripheralHandle: Sendable {
    /// The program's connection request and its state.
    struct ConnectionRequest {
        var state = CBPeripheralState.disconnected
        /// The number of the program's connection request; events of an earlier one are discarded.
        var attempt = 0
        /// Whether the program has cancelled the request.
        var isCancelled = false
        /// Whether the last disconnection was reported to be followed by a reconnection.
        var isReconnecting = false
    }

    /// The device's name and advertising data, whether it is connected or not.
    struct DeviceInformation {
        var name: String?
        /// Whether the name was read from its attribute, which has precedence over the advertised one.
        var isNameRead = false
        var rssi: Int?
        /// The services it advertised last.
        var advertisedServices: [BluetoothUUID] = []
    }

    /// The cached services of a connection.
    struct Database {
        /// The services discovered so far.
        var services: [CBService]?
        /// All services in the database, discovered or not, by their handles.
        var known: [AttributeHandle: CBService] = [:]
        /// The characteristics whose values the program has subscribed to.
        var notifying: [AttributeHandle: CBCharacteristic] = [:]
    }

    /// The pending requests and values of a connection.
    struct Traffic {
        /// The queue of requests while connected.
        var requests: PeripheralRequestQueue?
        /// The number of unanswered requests.
        var requestCount = 0
        var commandLength = 20
        var flow: WriteFlow
        /// The number of values that the program has not processed.
        var valueCount = 0
        /// Changes of its services that were not reported to the program yet.
        var changes: [AttributeHandleRange] = []
        /// The opened channels, which end with the connection.
        var channels: [WeakReference<ConnectionOrientedChannel>] = []
    }

    struct Shared {
        var connectionRequest = ConnectionRequest()
        var information: DeviceInformation
        var database = Database()
        var traffic: Traffic
        /// The program's object, while the program retains it.
        weak var peripheral: CBPeripheral?
    }

    /// The maximum number of queued requests.
    static let requestLimit = 1024
    /// The maximum number of values queued for the program.
    static let valueLimit = 8192
    /// The maximum number of service changes queued for the program; beyond it one report says that all have changed.
    static let changeLimit = 64

    let address: BluetoothAddress
    let central: CentralHandle
    let shared: Locked<Shared>
    private let mark: ComponentCount.Mark

    init(_ address: BluetoothAddress, of central: CentralHandle) {
        self.address = address
        self.central = central
        let known = central.radio.devices.withLock { $0.name(of: address) }
        shared = Locked(
            Shared(
                information: DeviceInformation(name: known?.text, isNameRead: known?.isRead ?? false),
                traffic: Traffic(flow: WriteFlow(credits: central.configuration.writeCredits))))
        mark = central.radio.components.mark()
    }

    var radio: Radio { central.radio }

    // MARK: The program's requests, from any thread

    /// Starts to connect, unless an attempt is in progress; an existing connection is reported once more.
    func connect(_ options: PeripheralConnectOptions) {
        let (state, attempt, isTaken) = shared { shared -> (CBPeripheralState, Int, Bool) in
            let state = shared.connectionRequest.state
            switch state {
            case .connecting: break
            case .connected:
                guard shared.traffic.requestCount < Self.requestLimit else {
                    return (state, shared.connectionRequest.attempt, false)
                }
                shared.traffic.requestCount += 1
            case .disconnected, .disconnecting:
                shared.connectionRequest.attempt += 1
                shared.connectionRequest.state = .connecting
                shared.connectionRequest.isCancelled = false
            }
            return (state, shared.connectionRequest.attempt, true)
        }
        switch state {
        case .connecting: break
        case .connected:
            guard isTaken else {
                return misuse("connect(_:options:) was dropped: \(Self.requestLimit) requests are queued already.")
            }
            report(attempt, record: { $0.requestCount -= 1 }) { [central] peripheral, _ in
                guard let manager = central.manager, peripheral.state == .connected else { return }
                manager.delegate?.centralManager(manager, didConnect: peripheral)
            }
        case .disconnected, .disconnecting:
            let new = ConnectionAttempt(handle: self, number: attempt, options: options)
            radio.soon { [self] in $0.hub(of: central)?.link(of: self).begin(new) }
        }
    }

    /// Ends the connection, or cancels the attempt.
    /// - Parameter peripheral: the program's object for it, which lives until the end was reported, even if the program
    ///   releases it before.
    func cancel(_ peripheral: CBPeripheral) {
        let isDue = shared { shared -> Bool in
            guard shared.connectionRequest.state == .connecting || shared.connectionRequest.state == .connected else {
                return false
            }
            shared.connectionRequest.state = .disconnecting
            shared.connectionRequest.isCancelled = true
            return true
        }
        guard isDue else { return }
        radio.soon { [self] in $0.hub(of: central)?.link(of: self).cancel(keeping: peripheral) }
    }

    /// Ends the connection, or cancels the attempt, of a peripheral that the program has released without cancelling.
    func drop(_ description: @autoclosure () -> String) {
        let isInUse = shared { $0.connectionRequest.state == .connecting || $0.connectionRequest.state == .connected }
        if isInUse, central.isOpen {
            central.configuration.reportMisuse(
                "Cancelling connection for unused peripheral \(description()), Did you forget to keep a reference to it?"
            )
        }
        radio.soon { [self] in $0.hub(of: central)?.remove(self) }
    }

    /// Sends a request to the peripheral, or logs that it is not connected.
    func request(_ request: PeripheralRequest, _ call: String = #function) {
        let (isConnected, isTaken) = shared { shared -> (Bool, Bool) in
            guard shared.connectionRequest.state == .connected, let requests = shared.traffic.requests else {
                return (false, false)
            }
            // A request of the link's own always has room.
            var isOwn = false
            if case .stopNotifying = request { isOwn = true }
            guard isOwn || shared.traffic.requestCount < Self.requestLimit, requests.append(request) else {
                return (true, false)
            }
            shared.traffic.requestCount += 1
            return (true, true)
        }
        guard isConnected else {
            return misuse("\(call) has no effect while the peripheral is not connected.")
        }
        if !isTaken { misuse("\(call) was dropped: \(Self.requestLimit) requests are queued already.") }
    }

    /// Writes a value, or logs why that is not possible.
    func write(_ value: [UInt8], to characteristic: CBCharacteristic, _ type: CBCharacteristicWriteType) {
        guard type == .withoutResponse else {
            return request(.write(characteristic, value), "writeValue(_:for:type:)")
        }
        guard let remote = characteristic.remote, remote.properties.contains(.writeWithoutResponse) else {
            return misuse("\(characteristic.uuid) does not allow writes without response; its value is not written.")
        }
        let problem = shared { shared -> String? in
            guard shared.connectionRequest.state == .connected, let requests = shared.traffic.requests else {
                return "has no effect while the peripheral is not connected."
            }
            guard shared.traffic.flow.begin() else {
                return "was dropped: \(WriteFlow.limit) writes are queued. Check canSendWriteWithoutResponse."
            }
            let isShort = value.count <= shared.traffic.commandLength
            if requests.append(isShort ? .writeCommand(remote, value) : .writeLongCommand(remote, value)) {
                return nil
            }
            shared.traffic.flow.cancel()
            return "was dropped: too many requests are queued."
        }
        if let problem { misuse("writeValue(_:for:type:) \(problem)") }
    }

    var canSend: Bool { shared { $0.connectionRequest.state == .connected && $0.traffic.flow.canSend } }

    // MARK: Reports to the program

    /// Calls back with the peripheral and its manager, if the program still retains both.
    func post(_ body: @escaping @Sendable (CBPeripheral, CBCentralManager) -> Void) {
        central.callbacks.post(from: .device(address)) { [self] in
            guard let manager = central.manager, let peripheral = shared({ $0.peripheral }) else { return }
            body(peripheral, manager)
        }
    }

    /// Calls the delegate, if the program still knows the connection as up.
    /// - Parameter record: records in the connection's traffic that it is delivered.
    func report(
        _ attempt: Int, record: @escaping @Sendable (inout Traffic) -> Void = { _ in },
        _ body: @escaping @Sendable (CBPeripheral, (any CBPeripheralDelegate)?) -> Void
    ) {
        central.callbacks.post(from: .device(address)) { [self] in deliver(attempt, record: record, body) }
    }

    /// The same, on the callback queue.
    func deliver(
        _ attempt: Int, record: (inout Traffic) -> Void = { _ in },
        _ body: (CBPeripheral, (any CBPeripheralDelegate)?) -> Void
    ) {
        guard central.manager != nil else { return }
        let peripheral = shared { shared -> CBPeripheral? in
            let state = shared.connectionRequest.state
            guard shared.connectionRequest.attempt == attempt, state == .connected || state == .disconnecting,
                shared.traffic.requests != nil
            else { return nil }
            record(&shared.traffic)
            return shared.peripheral
        }
        if let peripheral { body(peripheral, peripheral.delegate) }
    }

    /// Records the end of a connection or an attempt; returns whether to report it.
    func recordEnd(_ attempt: Int, state: CBPeripheralState) -> Bool {
        let (isCurrent, gone) = shared { shared in
            // A later attempt of the program has a state of its own.
            let isCurrent = shared.connectionRequest.attempt == attempt
            if isCurrent {
                shared.connectionRequest.state = state
                shared.connectionRequest.isReconnecting = state == .connecting
                shared.traffic.requests = nil
            }
            shared.traffic.flow.reset()
            defer { shared.database = Database() }
            return (isCurrent, shared.database)
        }
        for characteristic in gone.notifying.values { characteristic.contents { $0.isNotifying = false } }
        // The end of a connection that the program has cancelled is reported even after it has connected again.
        return isCurrent || shared { $0.connectionRequest.attempt == attempt + 1 }
    }
}
