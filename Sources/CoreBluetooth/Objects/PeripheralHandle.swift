import BluetoothSockets
import BluetoothLE
import BluetoothLoop
import Foundation
import Logging
import Synchronization

/// What a program asks of a peripheral; each is answered by one callback, in the order they were asked.
enum PeripheralRequest: Sendable {
    case readRSSI
    case discoverServices([BluetoothUUID]?)
    case discoverIncludedServices([BluetoothUUID]?, Handed<CBService>)
    case discoverCharacteristics([BluetoothUUID]?, Handed<CBService>)
    case discoverDescriptors(Handed<CBCharacteristic>)
    case read(Handed<CBCharacteristic>)
    case readDescriptor(Handed<CBDescriptor>)
    case write(Handed<CBCharacteristic>, [UInt8])
    /// Not answered.
    case writeCommand(RemoteCharacteristic, [UInt8])
    case writeDescriptor(Handed<CBDescriptor>, [UInt8])
    case setNotify(Bool, Handed<CBCharacteristic>)
    /// The program has not taken its values in time, so no more are wanted.
    case stopNotifying(Handed<CBCharacteristic>)
    case openChannel(CBL2CAPPSM)
}

/// How to connect to a peripheral.
struct PeripheralConnectOptions: Sendable {
    var startDelay: Duration?
    var reconnects = false
}

/// A peripheral's side of the radio, behind ``CBPeripheral``: what the program wants of it, on any thread.
///
/// What the program sees is in ``shared``, which changes on the callback queue, just before the program is told.
final class PeripheralHandle: Sendable {
    /// What the program wants, and how far that has come.
    struct Wish {
        var state = CBPeripheralState.disconnected
        /// Counts the program's wishes to be connected; what belongs to an earlier one is of no interest any more.
        var attempt = 0
        /// Whether the program has taken back the wish.
        var isCancelled = false
        /// Whether the program was told that the last connection to end is made again.
        var isReconnecting = false
    }

    /// What is known of the device, connected or not.
    struct Facts {
        var name: String?
        /// Whether the name is what its attribute says, whatever it advertises.
        var isNameRead = false
        var rssi: Int?
        /// The services it advertised last.
        var advertisedServices: [BluetoothUUID] = []
    }

    /// What is known of its services while it is connected.
    struct Database {
        /// The services discovered so far.
        var services: [CBService]?
        /// All services there are, discovered or not, by their handles.
        var known: [AttributeHandle: CBService] = [:]
        /// The characteristics whose values are wanted.
        var notifying: [AttributeHandle: Handed<CBCharacteristic>] = [:]
    }

    /// What is on its way over a connection.
    struct Traffic {
        /// Takes requests while it is connected.
        var requests: RequestQueue<PeripheralRequest>?
        /// How many requests have not been answered.
        var requestCount = 0
        var commandLength = 20
        var flow: WriteFlow
        /// How many values wait to be taken by the program.
        var valueCount = 0
        /// Changes of its services that the program has not been told of.
        var changes: [AttributeHandleRange] = []
        /// The channels that were opened, which end with the connection.
        var channels: [WeakReference<ConnectionOrientedChannel>] = []
    }

    struct Shared {
        var wish = Wish()
        var facts = Facts()
        var database = Database()
        var traffic: Traffic
    }

    /// How many requests may wait.
    static let requestLimit = 1024
    /// How many values may wait for the program.
    static let valueLimit = 8192
    /// How many changes of services may wait for the program before it is only told that all have changed.
    static let changeLimit = 64

    let address: BluetoothAddress
    let central: CentralHandle
    let shared: Locked<Shared>
    private let mark: ComponentCount.Mark

    init(_ address: BluetoothAddress, of central: CentralHandle) {
        self.address = address
        self.central = central
        shared = Locked(Shared(traffic: Traffic(flow: WriteFlow(credits: central.configuration.writeCredits))))
        mark = central.radio.components.mark()
    }

    var radio: Radio { central.radio }

    // MARK: The program's wishes, from any thread

    /// Begins to connect, unless that has begun; a connection that is up is reported once more.
    func connect(_ options: PeripheralConnectOptions) {
        let (state, attempt, isTaken) = shared { shared -> (CBPeripheralState, Int, Bool) in
            let state = shared.wish.state
            switch state {
            case .connecting: break
            case .connected:
                guard shared.traffic.requestCount < Self.requestLimit else {
                    return (state, shared.wish.attempt, false)
                }
                shared.traffic.requestCount += 1
            case .disconnected, .disconnecting:
                shared.wish.attempt += 1
                shared.wish.state = .connecting
                shared.wish.isCancelled = false
            }
            return (state, shared.wish.attempt, true)
        }
        switch state {
        case .connecting: break
        case .connected:
            guard isTaken else {
                return misuse("connect(_:options:) was dropped: \(Self.requestLimit) requests are waiting already.")
            }
            answer(attempt) { [central] peripheral, _ in
                guard let manager = central.manager, peripheral.state == .connected else { return }
                manager.delegate?.centralManager(manager, didConnect: peripheral)
            }
        case .disconnected, .disconnecting:
            let new = ConnectionAttempt(handle: self, number: attempt, options: options)
            radio.soon { [self] in $0.hub(of: central)?.link(of: self).begin(new) }
        }
    }

    /// Ends the connection, or the attempt at one.
    /// - Parameter peripheral: the program's object for it, which lives until the program has received the end, though the
    ///   program lets go of it before.
    func cancel(_ peripheral: CBPeripheral) {
        let isDue = shared { shared -> Bool in
            guard shared.wish.state == .connecting || shared.wish.state == .connected else { return false }
            shared.wish.state = .disconnecting
            shared.wish.isCancelled = true
            return true
        }
        guard isDue else { return }
        let kept = Handed(peripheral)
        radio.soon { [self] in $0.hub(of: central)?.link(of: self).cancel(keeping: kept) }
    }

    /// The program has let go of the peripheral: ends the connection, or the attempt at one, which the program has not
    /// cancelled.
    func drop(_ description: @autoclosure () -> String) {
        let isInUse = shared { $0.wish.state == .connecting || $0.wish.state == .connected }
        if isInUse, central.isOpen {
            central.configuration.reportMisuse(
                "Cancelling connection for unused peripheral \(description()), Did you forget to keep a reference to it?"
            )
        }
        radio.soon { [self] in $0.hub(of: central)?.remove(self) }
    }

    /// Asks something of the peripheral, or logs that it is not connected.
    func request(_ request: PeripheralRequest, _ call: String) {
        let (isConnected, isTaken) = shared { shared -> (Bool, Bool) in
            guard shared.wish.state == .connected, let requests = shared.traffic.requests else { return (false, false) }
            // One of the link's own always has room.
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
        if !isTaken { misuse("\(call) was dropped: \(Self.requestLimit) requests are waiting already.") }
    }

    /// Writes a value, or logs why not.
    func write(_ value: [UInt8], to characteristic: CBCharacteristic, _ type: CBCharacteristicWriteType) {
        guard type == .withoutResponse else {
            return request(.write(Handed(characteristic), value), "writeValue(_:for:type:)")
        }
        guard let remote = characteristic.remote, remote.properties.contains(.writeWithoutResponse) else {
            return misuse("\(characteristic.uuid) takes no writes without response; its value is not written.")
        }
        let problem = shared { shared -> String? in
            guard shared.wish.state == .connected, let requests = shared.traffic.requests else {
                return "has no effect while the peripheral is not connected."
            }
            guard shared.traffic.flow.begin() else {
                return "was dropped: \(WriteFlow.limit) writes are waiting. Mind canSendWriteWithoutResponse."
            }
            if requests.append(.writeCommand(remote, value)) { return nil }
            shared.traffic.flow.cancel()
            return "was dropped: too much is waiting."
        }
        if let problem { misuse("writeValue(_:for:type:) \(problem)") }
    }

    var canSend: Bool { shared { $0.wish.state == .connected && $0.traffic.flow.canSend } }

    // MARK: Telling the program

    /// Calls back with the peripheral and its manager, if the program still has both.
    func post(_ body: @escaping @Sendable (CBPeripheral, CBCentralManager) -> Void) {
        central.callbacks.post { [self] in
            guard let manager = central.manager, let peripheral = central.peripheral(of: self) else { return }
            body(peripheral, manager)
        }
    }

    /// Calls the delegate back, if the connection it is about is still up as far as the program knows.
    func tell(
        _ attempt: Int, _ body: @escaping @Sendable (CBPeripheral, (any CBPeripheralDelegate)?) -> Void
    ) {
        central.callbacks.post { [self] in deliver(attempt, body) }
    }

    /// The same, on the callback queue.
    func deliver(_ attempt: Int, _ body: (CBPeripheral, (any CBPeripheralDelegate)?) -> Void) {
        guard central.manager != nil, let peripheral = central.peripheral(of: self) else { return }
        let isUp = shared { shared in
            shared.wish.attempt == attempt && (shared.wish.state == .connected || shared.wish.state == .disconnecting)
                && shared.traffic.requests != nil
        }
        if isUp { body(peripheral, peripheral.delegate) }
    }

    /// Calls the delegate back with the answer to a request.
    func answer(
        _ attempt: Int, _ body: @escaping @Sendable (CBPeripheral, (any CBPeripheralDelegate)?) -> Void
    ) {
        tell(attempt) { peripheral, delegate in
            peripheral.handle.shared { $0.traffic.requestCount -= 1 }
            body(peripheral, delegate)
        }
    }

    /// Takes in the end of a connection or an attempt; says whether the program is to be told.
    func takeEnd(_ attempt: Int, state: CBPeripheralState) -> Bool {
        let (isCurrent, gone) = shared { shared in
            // What the program has begun meanwhile has a state of its own.
            let isCurrent = shared.wish.attempt == attempt
            if isCurrent {
                shared.wish.state = state
                shared.wish.isReconnecting = state == .connecting
                shared.traffic.requests = nil
            }
            shared.traffic.flow.reset()
            defer { shared.database = Database() }
            return (isCurrent, shared.database)
        }
        for characteristic in gone.notifying.values { characteristic.object.contents { $0.isNotifying = false } }
        // The end of what the program itself has ended is told though it has begun anew.
        return isCurrent || shared { $0.wish.attempt == attempt + 1 }
    }
}
