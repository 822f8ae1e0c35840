import BluetoothATT
import BluetoothAdvertising
import BluetoothGATT
import BluetoothHCI
import BluetoothLE
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSockets
import Dispatch

/// A program on the simulated radio in virtual time: calls in any order, with faults; every wait must end.
let stacks = [
    FuzzTarget("stack-faults") { World.run(&$0) },
    FuzzTarget("stack-hostile-device") { World.run(&$0, isHostile: true) },
    FuzzTarget("stack-kernel-events") { World.run(&$0, changesPackets: true) },
]

/// The input of all that happens in a story.
private final class SharedSource: @unchecked Sendable {
    // Unchecked: it is taken on the loop's thread alone.
    var source: ByteSource
    init(_ source: ByteSource) { self.source = source }
}

/// A machine, a device, and the calls of a program.
private final class World: @unchecked Sendable {
    // Unchecked: it is used on the loop's thread alone.
    private static let controller = SimulatedController(address: BluetoothAddress(0x00AA_0100_0042, kind: .public))
    private let radio: SimulatedRadio
    private let kernel: SimulatedKernel
    private let device: SimulatedPeripheral
    private let adapter: Adapter
    private let input: SharedSource
    private var calls: [Task<Void, Never>] = []
    private var connections: [Connection] = []
    private var isOn = false

    static func run(_ source: inout ByteSource, isHostile: Bool = false, changesPackets: Bool = false) {
        let input = SharedSource(source)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            let radio = SimulatedRadio()
            do {
                try await radio.run(stallGrace: .seconds(8)) {
                    let kernel = ChangingKernel(
                        radio.makeKernel(adapters: [controller]), changesPackets ? input : nil)
                    guard let world = try await World(on: radio, kernel, input, isHostile: isHostile) else { return }
                    for _ in 0..<24 where !input.source.isEmpty { try await world.step() }
                    await world.end()
                }
            } catch {
                fatalError("\(error)")
            }
            radio.close()
            done.signal()
        }
        done.wait()
    }

    private init?(on radio: SimulatedRadio, _ kernel: ChangingKernel, _ input: SharedSource, isHostile: Bool)
        async throws
    {
        (self.radio, self.kernel, self.input) = (radio, kernel.base, input)
        let server = SimulatedGATTServer(FuzzDatabase.make(), limits: FuzzDatabase.limits)
        server.onRead { handle, _ in handle.rawValue & 1 == 0 ? .value([1, 2], after: .seconds(1)) : .silence }
        device =
            isHostile
            ? SimulatedPeripheral(on: radio) { _ in HostileDevice(input) }
            : SimulatedPeripheral(on: radio, gatt: server)
        device.setSecurity(SimulatedSecurity())
        device.setService(0x85, receiveMTU: 100)
        do throws(BluetoothError) {
            adapter = try await Adapter.open(
                power: .keepOn, configuration: .init(bonds: .store(MemoryBondStore())), on: kernel)
        } catch {
            return nil
        }
    }

    /// Begins a call, whose failure must be the library's.
    private func call(_ body: @escaping @Sendable () async throws -> Void) {
        let task = Task(executorPreference: radio.loop) {
            do { try await body() } catch { require(error is BluetoothError, "an error of another type: \(error)") }
        }
        calls.append(task)
    }

    /// Begins a call of a connection.
    private func use(_ body: @escaping @Sendable (Connection) async throws -> Void) {
        guard let connection = input.source.choose(connections) else { return connect() }
        call { try await body(connection) }
    }

    private func connect() {
        let level = input.source.choose([nil, nil, SecurityLevel.medium, .high]) ?? nil
        call { [self] in
            var options = ConnectionOptions(timeout: .seconds(20))
            options.security.level = level
            connections.append(try await adapter.connect(to: device.address, options: options))
        }
    }

    func step() async throws {
        let (handle, value) = (FuzzDatabase.handle(&input.source), input.source.bytes(atMost: 100))
        switch input.source.number(below: 32) {
        case 0: connect()
        case 1:
            call { [adapter] in
                for try await _ in try await adapter.scan(ScanOptions(duration: .seconds(3))) {}
            }
        case 2: use { _ = try await $0.discover(cached: false) }
        case 3: use { _ = try await $0.read(handle) }
        case 4: use { try await $0.write(value, to: handle) }
        case 5: use { try await $0.write(value, to: handle, type: .withoutResponse) }
        case 6: use { for try await _ in try await $0.subscribe(to: 0x2A19, in: 0x1800) {} }
        case 7: use { try await $0.pair(to: .medium) }
        case 8: use { await $0.disconnect() }
        case 9: use { _ = try await $0.requestParameters(ConnectionUse.throughput.parameters) }
        case 10:
            use {
                let channel = try await $0.openChannel(psm: 0x85)
                try await channel.write(value)
                _ = try await channel.read()
            }
        case 11: use { _ = try await $0.openEnhancedBearers() }
        case 12:
            call { [adapter] in
                let services = try await adapter.publish([LocalService(0xFFE0)])
                let set = try await adapter.advertise(AdvertisementContent(localName: "fuzz"))
                _ = await set.closed()
                await services.close()
            }
        case 13: use { _ = await $0.disconnected() }
        case 14: if let call = input.source.choose(calls) { call.cancel() }
        case 15: if !connections.isEmpty { connections.removeFirst() }
        default: fault()
        }
        try await radio.sleep(for: input.source.duration())
    }

    /// Something goes wrong on the radio or with the machine, or is repaired.
    private func fault() {
        isOn.toggle()
        switch input.source.number(below: 16) {
        case 0: device.breakLinks()
        case 1: device.setHidden(isOn)
        case 2: device.setMute(isOn)
        case 3: device.setSending(isOn)
        case 4: device.setReceiving(isOn)
        case 5: device.forgetBonds()
        case 6: device.setRefusal(isOn ? .connectionFailedToBeEstablished : nil)
        case 7: device.requestSecurity(.medium)
        case 8: device.closeChannels(0x85)
        case 9:
            if let adapter = try? kernel.adapters().first {
                kernel.unplug(adapter.index)
            } else {
                kernel.plug(Self.controller)
            }
        case 10: kernel.setPowered(isOn, adapter: 0)
        case 11: kernel.setRadioSwitch(adapter: 0, isSoftBlocked: isOn)
        case 12: kernel.setFault(isOn ? ControllerFault(.hangs, until: .powerOff) : nil, adapter: 0)
        case 13: kernel.reportHardwareError(1, adapter: 0)
        case 14: kernel.forgetState(adapter: 0)
        default: radio.conditions.packetLoss = isOn ? 0.3 : 0
        }
    }

    /// Closes the adapter; every call ends then.
    func end() async {
        connections = []
        await adapter.close()
        for call in calls { await call.value }
    }
}

/// A device that responds with the input.
private final class HostileDevice: SimulatedLinkHandler {
    private let input: SharedSource

    init(_ input: SharedSource) { self.input = input }

    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        let request = [UInt8](packet)
        guard channel == .attribute, !request.isEmpty else { return }
        for _ in 0...(input.source.byte() >> 6) {
            link.send(response(to: request, mtu: 23, &input.source), on: channel)
        }
    }
}

// MARK: Packets of the kernel

/// A kernel whose packets the input changes.
private final class ChangingKernel: WrappingKernel {
    let base: SimulatedKernel
    private let input: SharedSource?

    init(_ base: SimulatedKernel, _ input: SharedSource?) { (self.base, self.input) = (base, input) }

    func openManagement(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        ChangingSocket(try base.openManagement(handler), input)
    }

    func openHCI(adapter: UInt16, _ handler: @escaping SocketHandler) throws(KernelError) -> any HCISocket {
        ChangingSocket(try base.openHCI(adapter: adapter, handler), input)
    }

    func connectL2CAP(
        to peer: BluetoothAddress, channel: L2CAPChannel, from adapter: BluetoothAddress, options: L2CAPOptions,
        _ handler: @escaping SocketHandler
    ) throws(KernelError) -> any L2CAPSocket {
        let socket = try base.connectL2CAP(to: peer, channel: channel, from: adapter, options: options, handler)
        return ChangingSocket(socket, input)
    }
}

private final class ChangingSocket: HCISocket, L2CAPSocket {
    private let base: any PacketSocket
    private let channel: (any L2CAPSocket)?
    private let input: SharedSource?

    init(_ base: any PacketSocket, _ input: SharedSource?) {
        (self.base, channel, self.input) = (base, base as? any L2CAPSocket, input)
    }

    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        base.receive { packet in
            guard let input else { return body(packet) }
            var bytes = [UInt8](packet)
            // Mostly unchanged.
            switch input.source.byte() {
            case 0xF0...0xF5: bytes.removeLast(min(bytes.count, Int(input.source.byte() & 15)))
            case 0xF6...0xFA where !bytes.isEmpty:
                bytes[Int(input.source.byte()) % bytes.count] = input.source.byte()
            case 0xFB: bytes.replaceSubrange(min(bytes.count, 6)..., with: input.source.bytes(atMost: 40))
            case 0xFC: bytes = input.source.bytes(atMost: 40)
            case 0xFD: return
            case 0xFE: body(packet)
            default: break
            }
            body(bytes.span.bytes)
        }
    }

    func send(_ packet: RawSpan) -> SendOutcome { base.send(packet) }
    func notifyWhenWritable() { base.notifyWhenWritable() }
    func setReading(_ isOn: Bool) { base.setReading(isOn) }
    func close() { base.close() }
    func setFilter(_ filter: HCISocketFilter) throws(KernelError) { try (base as? any HCISocket)?.setFilter(filter) }
    var peer: BluetoothAddress { channel?.peer ?? .zero }
    func connectionHandle() throws(KernelError) -> UInt16 { try channel?.connectionHandle() ?? 0 }
    func security() throws(KernelError) -> LinkSecurity {
        try channel?.security() ?? LinkSecurity(level: .low, keySize: 0)
    }
    func raiseSecurity(to level: SecurityLevel) throws(KernelError) { try channel?.raiseSecurity(to: level) }
    func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16) {
        try channel?.maximumTransmissionUnits() ?? (23, 23)
    }
}
