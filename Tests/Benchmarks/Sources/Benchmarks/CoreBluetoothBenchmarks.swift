import BluetoothLE
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSockets
import CoreBluetooth
import Synchronization

/// One end of a channel in memory, which makes no system calls.
private final class MemorySocket: L2CAPSocket {
    private struct State {
        weak var other: MemorySocket?
        var inbound = RingBuffer<[UInt8]>()
        var isScheduled = false
    }

    let peer: BluetoothAddress
    private let loop: EventLoop
    private let handler: LoopBound<SocketHandler>
    private let state = Mutex(State())

    private init(to peer: UInt64, on loop: EventLoop, _ handler: @escaping SocketHandler) {
        self.peer = BluetoothAddress(peer, kind: .random)
        self.loop = loop
        self.handler = LoopBound(handler, on: loop)
    }

    /// Two connected ends; called on the loop.
    static func pair(
        on loop: EventLoop, _ first: @escaping SocketHandler, _ second: @escaping SocketHandler
    ) -> (first: any L2CAPSocket, second: any L2CAPSocket) {
        let here = MemorySocket(to: 0xC000_0000_0002, on: loop, first)
        let there = MemorySocket(to: 0xC000_0000_0001, on: loop, second)
        here.state.withLock { $0.other = there }
        there.state.withLock { $0.other = here }
        return (here, there)
    }

    func send(_ packet: RawSpan) -> SendOutcome {
        let other = state.withLock { $0.other }
        other?.arrive([UInt8](packet))
        return .sent
    }

    private func arrive(_ packet: [UInt8]) {
        let isDue = state.withLock { state -> Bool in
            state.inbound.append(packet)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isDue { loop.execute { self.reportPackets() } }
    }

    private func reportPackets() {
        let count = state.withLock { state -> Int in
            state.isScheduled = false
            return state.inbound.count
        }
        for _ in 0..<count { handler.value(.readable) }
    }

    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        guard let packet = state.withLock({ $0.inbound.popFirst() }) else { return .wouldBlock }
        body(packet.span.bytes)
        return .packet
    }

    // It is never full.
    func notifyWhenWritable() {}
    func setReading(_ isOn: Bool) {}
    func close() { state.withLock { $0.inbound = RingBuffer() } }
    func connectionHandle() throws(KernelError) -> UInt16 { 1 }
    func security() throws(KernelError) -> LinkSecurity { LinkSecurity(level: .low, keySize: 0) }

    func raiseSecurity(to level: SecurityLevel) throws(KernelError) {
        throw KernelError("setsockopt(BT_SECURITY)", .operationNotSupported)
    }

    func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16) { (672, 672) }
}

/// A program written to Core Bluetooth, on a queue of its own.
//
// Unchecked: its variables are used on its queue alone.
private final class Program: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    private let queue = DispatchQueue(label: "program")
    private let isOn = Promise<Void, Never>()
    private var manager: CBCentralManager?
    private var device: CBPeripheral?
    private var characteristic: CBCharacteristic?
    /// The number of values that the program waits for, and whether it reads them.
    private var remaining = 0
    private var reads = false
    private var end: Promise<Void, Never>?

    /// Connects to the device of a link, and subscribes to its first value.
    func connect(over link: Connection, on kernel: SimulatedKernel) async throws {
        let manager = await CBLinux.withKernel(kernel) { CBCentralManager(delegate: self, queue: queue) }
        await isOn.value(ifCancelled: ())
        guard let device = await manager.adopt(link) else { throw CallFailed(call: "adopt", number: 0) }
        await perform { program in
            (program.manager, program.device) = (manager, device)
            device.delegate = program
            manager.connect(device)
        }
    }

    /// Reads the value `count` times, each time in the callback of the last.
    func read(_ count: Int) async {
        await perform(count) { program in
            program.reads = true
            program.readNext()
        }
    }

    /// Waits for `count` values, which `send` sends.
    func receive(_ count: Int, _ send: @escaping @Sendable () -> Void) async {
        await perform(count) { program in
            program.reads = false
            send()
        }
    }

    /// Ends the connection, but not the link, which is not the program's.
    func disconnect() async {
        await perform { program in
            if let device = program.device { program.manager?.cancelPeripheralConnection(device) }
        }
    }

    /// Begins something on the program's queue, and waits for its end.
    private func perform(_ count: Int = 1, _ begin: @escaping @Sendable (Program) -> Void) async {
        let end = Promise<Void, Never>()
        queue.async {
            (self.remaining, self.end) = (count, end)
            begin(self)
        }
        await end.value(ifCancelled: ())
    }

    private func readNext() {
        if let device, let characteristic { device.readValue(for: characteristic) }
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn { isOn.succeed() }
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices(nil)
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        fatalError("\(String(describing: error))")
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        end?.succeed()
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        if let service = peripheral.services?.first { peripheral.discoverCharacteristics(nil, for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        characteristic = service.characteristics?.first
        if let characteristic { peripheral.setNotifyValue(true, for: characteristic) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        end?.succeed()
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        consume(characteristic.value?.count ?? 0)
        remaining -= 1
        if remaining == 0 { end?.succeed() } else if reads { readNext() }
    }
}

/// Core Bluetooth's classes beside the functions that they stand on, each over a link in memory: what callbacks on a
/// queue cost. Without goals, as both depend on where the scheduler puts the threads.
struct CoreBluetoothBenchmarks {
    private let harness: Harness

    init(_ harness: Harness) {
        self.harness = harness
    }

    func ratios() async throws -> Report.Section {
        let radio = SimulatedRadio(time: .real)
        let kernel = radio.makeKernel()
        let connect: @Sendable (@escaping SocketHandler, @escaping SocketHandler) -> SocketPair = {
            MemorySocket.pair(on: radio.loop, $0, $1)
        }
        let (server, client) = try await NotifyingServer.make(on: radio.loop, connect)
        let (programServer, programClient) = try await NotifyingServer.make(on: radio.loop, connect)
        guard let characteristic = try await client.discover().first?.characteristics.first else {
            throw CallFailed(call: "discover", number: 0)
        }
        let program = Program()
        try await program.connect(over: programClient, on: kernel)

        var section = Report.Section(
            title: "Core Bluetooth beside the asynchronous functions, links in memory", measurements: [])
        try await compare(
            "read 20 bytes", in: &section
        ) { count in
            for _ in 0..<count { consume(try await client.read(characteristic).count) }
        } facade: { count in
            await program.read(count)
        }

        let (burst, value) = (100, [UInt8](repeating: 0x55, count: 20))
        let handle = characteristic.valueHandle
        let stream = try await client.subscribe(to: characteristic)
        var iterator = stream.makeAsyncIterator()
        try await compare(
            "notification of 20 bytes, in bursts of \(burst)", in: &section
        ) { count in
            for _ in 0..<max(1, count / burst) {
                server.soon { $0.notify(handle, value, count: burst) }
                for _ in 0..<burst { consume(try await iterator.next()?.count ?? 0) }
            }
        } facade: { count in
            for _ in 0..<max(1, count / burst) {
                await program.receive(burst) { programServer.soon { $0.notify(handle, value, count: burst) } }
            }
        }
        await client.disconnect()
        await program.disconnect()
        await programClient.disconnect()
        radio.close()
        return section
    }

    /// Measures an operation by both.
    private func compare(
        _ operation: String, in section: inout Report.Section,
        function: (Int) async throws -> Void, facade: (Int) async throws -> Void
    ) async throws {
        let plain = try await harness.measure("\(operation), awaited on the global pool", isolation: nil, function)
        let callback = try await harness.measure("\(operation), Core Bluetooth's callback", isolation: nil, facade)
        section.measurements += [plain, callback]
        guard plain.isMeasured, callback.isMeasured else { return }
        section.facts.append(
            Report.Fact(
                name: "\(operation), Core Bluetooth to awaited", value: callback.cpu / plain.cpu, unit: "×", goal: nil))
    }
}
