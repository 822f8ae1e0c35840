import BluetoothSockets
import BluetoothPrimitives
import BluetoothSimulation
import Synchronization

/// A kernel that injects a fault when the link has carried a certain number of packets, in either direction.
package final class FaultingKernel: WrappingKernel {
    private struct State {
        var count = 0
        var index: Int?
        var fault: (@Sendable () -> Void)?
        var countsController = false
        var listeningRefusal: ErrorNumber?
        var controllerRefusal: ErrorNumber?
        var raiseRefusals = 0
        var raiseRefusal = ErrorNumber.invalidArgument
        var notifiedByteCount = 0
        var sendBuffer: Int?
    }

    package let base: SimulatedKernel
    private let state = Mutex(State())

    /// Creates a kernel that counts the packets of `base`.
    package init(_ base: SimulatedKernel) {
        self.base = base
    }

    /// The number of packets since ``arm(at:_:)``.
    package var count: Int { state.withLock { $0.count } }

    /// The number of bytes in the values of all received notifications.
    package var notifiedByteCount: Int { state.withLock { $0.notifiedByteCount } }

    /// Resets the count, and calls `fault` just before the packet with this index, from zero, is delivered.
    ///
    /// `withController` counts the packets of raw HCI sockets too.
    package func arm(at index: Int?, withController: Bool = false, _ fault: @escaping @Sendable () -> Void) {
        state.withLock {
            let (notified, sendBuffer) = ($0.notifiedByteCount, $0.sendBuffer)
            $0 = State(index: index, fault: fault, countsController: withController)
            ($0.notifiedByteCount, $0.sendBuffer) = (notified, sendBuffer)
        }
    }

    /// Makes listening fail from now on, or with nil succeed.
    package func refuseListening(_ number: ErrorNumber?) {
        state.withLock { $0.listeningRefusal = number }
    }

    /// Makes opening raw HCI sockets fail from now on, or with nil succeed.
    package func refuseController(_ number: ErrorNumber?) {
        state.withLock { $0.controllerRefusal = number }
    }

    /// Makes the next `count` attempts to raise a link's security fail, with EINVAL by default.
    package func refuseToRaise(_ count: Int, with number: ErrorNumber = .invalidArgument) {
        state.withLock { ($0.raiseRefusals, $0.raiseRefusal) = (count, number) }
    }

    /// The size of the send buffers of the sockets from now on, in place of what the options say.
    package func setSendBuffer(_ size: Int?) { state.withLock { $0.sendBuffer = size } }

    fileprivate func checkRaise() throws(KernelError) {
        let refusal = state.withLock { state -> ErrorNumber? in
            guard state.raiseRefusals > 0 else { return nil }
            state.raiseRefusals -= 1
            return state.raiseRefusal
        }
        if let refusal { throw KernelError("setsockopt(BT_SECURITY)", refusal) }
    }

    /// Counts a notification (opcode 0x1B): three bytes precede its value.
    fileprivate func count(_ packet: RawSpan) {
        let packet = [UInt8](packet)
        guard packet.first == 0x1B, packet.count > 3 else { return }
        state.withLock { $0.notifiedByteCount += packet.count - 3 }
    }

    fileprivate func willPassToController() {
        if state.withLock({ $0.countsController }) { willPass() }
    }

    fileprivate func willPass() {
        let fault = state.withLock { state -> (@Sendable () -> Void)? in
            defer { state.count += 1 }
            guard state.count == state.index else { return nil }
            defer { state.fault = nil }
            return state.fault
        }
        fault?()
    }

    package func watchRadioSwitches(_ handler: @escaping () -> Void) -> (any RadioSwitchWatch)? {
        base.watchRadioSwitches(handler)
    }

    package func openHCI(adapter: UInt16, _ handler: @escaping SocketHandler) throws(KernelError) -> any HCISocket {
        if let number = state.withLock({ $0.controllerRefusal }) { throw KernelError("bind", number) }
        return CountedHCISocket(try base.openHCI(adapter: adapter, handler), self)
    }

    package func connectL2CAP(
        to peer: BluetoothAddress, channel: L2CAPChannel, from adapter: BluetoothAddress, options: L2CAPOptions,
        _ handler: @escaping SocketHandler
    ) throws(KernelError) -> any L2CAPSocket {
        var options = options
        if let size = state.withLock({ $0.sendBuffer }) { options.sendBuffer = size }
        return CountedSocket(
            try base.connectL2CAP(to: peer, channel: channel, from: adapter, options: options, handler), self)
    }

    package func listenL2CAP(
        channel: L2CAPChannel, on adapter: BluetoothAddress, options: L2CAPOptions,
        _ accept: @escaping L2CAPAcceptHandler
    ) throws(KernelError) -> any L2CAPListener {
        if let number = state.withLock({ $0.listeningRefusal }) { throw KernelError("listen", number) }
        return try base.listenL2CAP(channel: channel, on: adapter, options: options, accept)
    }
}

/// A socket whose packets are counted.
private final class CountedSocket: L2CAPSocket {
    private let base: any L2CAPSocket
    private let kernel: FaultingKernel

    init(_ base: any L2CAPSocket, _ kernel: FaultingKernel) {
        self.base = base
        self.kernel = kernel
    }

    func send(_ packet: RawSpan) -> SendOutcome {
        kernel.willPass()
        return base.send(packet)
    }

    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        base.receive { packet in
            kernel.willPass()
            kernel.count(packet)
            body(packet)
        }
    }

    var peer: BluetoothAddress { base.peer }
    func notifyWhenWritable() { base.notifyWhenWritable() }
    func setReading(_ isOn: Bool) { base.setReading(isOn) }
    func close() { base.close() }
    func connectionHandle() throws(KernelError) -> UInt16 { try base.connectionHandle() }
    func security() throws(KernelError) -> LinkSecurity { try base.security() }
    func raiseSecurity(to level: SecurityLevel) throws(KernelError) {
        try kernel.checkRaise()
        try base.raiseSecurity(to: level)
    }
    func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16) {
        try base.maximumTransmissionUnits()
    }
}

/// A raw HCI socket whose packets are counted if requested.
private final class CountedHCISocket: HCISocket {
    private let base: any HCISocket
    private let kernel: FaultingKernel

    init(_ base: any HCISocket, _ kernel: FaultingKernel) {
        self.base = base
        self.kernel = kernel
    }

    func send(_ packet: RawSpan) -> SendOutcome {
        kernel.willPassToController()
        return base.send(packet)
    }

    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        base.receive { packet in
            kernel.willPassToController()
            body(packet)
        }
    }

    func notifyWhenWritable() { base.notifyWhenWritable() }
    func setReading(_ isOn: Bool) { base.setReading(isOn) }
    func close() { base.close() }
    func setFilter(_ filter: HCISocketFilter) throws(KernelError) { try base.setFilter(filter) }
}
