import BluetoothGATT
import BluetoothKernelHost
import BluetoothManagement
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSockets
import Logging
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Two machines in range of each other, of which the second advertises.
struct TwoMachines: Sendable {
    let fixture: Fixture
    let kernel: SimulatedKernel
    let other: SimulatedKernel
    /// The kernel of the first machine's adapter.
    let faulting: FaultingKernel
    let central: Adapter
    let peripheral: Adapter
    let attributes: AttributePeer

    static func run(
        time: SimulatedTime = .virtual, _ body: @escaping @Sendable (TwoMachines) async throws -> Void
    ) async throws {
        try await Fixture.run(time: time) { fixture in
            let other = fixture.radio.makeKernel()
            let faulting = FaultingKernel(fixture.kernel)
            let central = try await Adapter.open(on: faulting)
            let peripheral = try await Adapter.open(on: other)
            let machines = TwoMachines(
                fixture: fixture, kernel: fixture.kernel, other: other, faulting: faulting, central: central,
                peripheral: peripheral,
                attributes: try await AttributePeer(other, peripheral.information.address))
            try await machines.advertise()
            try await body(machines)
        }
    }

    /// Makes the second machine advertise.
    func advertise() async throws {
        try await peripheral.sendToManagement(
            ManagementAddAdvertising(instance: 1, flags: [.connectable, .generalDiscoverable]), to: 0)
    }

    var peer: BluetoothAddress { peripheral.information.address }

    /// Opens a channel from the first machine to the second.
    func channel(
        psm: UInt16 = 0x0085, options: ChannelOptions = ChannelOptions(),
        listening: ChannelOptions = ChannelOptions()
    ) async throws -> (central: ConnectionOrientedChannel, peripheral: ConnectionOrientedChannel) {
        let listener = try await peripheral.listen(psm: psm, options: listening)
        let made = try await central.openChannel(to: peer, psm: psm, options: options)
        var iterator = listener.makeAsyncIterator()
        return (made, try #require(try await iterator.next()))
    }
}

/// A server of attributes on a machine.
final class AttributePeer: Sendable {
    private struct State {
        var listeners: [any L2CAPListener] = []
        var connections: [Connection] = []
    }

    private let state = Mutex(State())

    init(_ kernel: SimulatedKernel, _ address: BluetoothAddress) async throws {
        try await kernel.onLoop {
            let listener = try kernel.listenL2CAP(channel: .attribute, on: address, options: L2CAPOptions()) {
                [weak self] socket in self?.accept(socket, on: kernel.loop) ?? { _ in }
            }
            state.withLock { $0.listeners.append(listener) }
        }
    }

    /// Accepts enhanced bearers with this MTU as well.
    func listenForEnhancedBearers(_ kernel: SimulatedKernel, _ address: BluetoothAddress, mtu: UInt16) async throws {
        kernel.hasNetBindService = true
        try await kernel.onLoop {
            let options = L2CAPOptions(security: .medium, receiveMTU: mtu, flowControl: .enhancedCreditBased)
            let listener = try kernel.listenL2CAP(channel: .dynamic(psm: 0x0027), on: address, options: options) {
                [weak self] socket in
                guard let connection = self?.connections.last else { return { _ in } }
                let link = connection.core.value
                return KernelChannel.accept(socket, .dynamic(psm: 0x0027), on: kernel.loop) {
                    link.enhancedBearers.accept($0, link)
                }
            }
            state.withLock { $0.listeners.append(listener) }
        }
    }

    /// The served attributes: a value of 100 bytes that can be read and written, and the characteristics for enhanced
    /// bearers.
    private static func database() -> AttributeDatabase {
        let services = [
            GATTService(
                .genericAttribute,
                characteristics: [
                    GATTCharacteristic(.clientSupportedFeatures, properties: [.read, .write], value: .stored([0])),
                    GATTCharacteristic(.serverSupportedFeatures, properties: .read, value: .stored([1])),
                ]),
            GATTService(
                0xFFF0,
                characteristics: [
                    GATTCharacteristic(0xFFF1, properties: [.read, .write], value: .stored(pattern(100)))
                ]),
        ]
        return (try? AttributeDatabase(services)) ?? .empty
    }

    /// The connections, oldest first.
    var connections: [Connection] { state.withLock { $0.connections } }

    private func accept(_ socket: any L2CAPSocket, on loop: EventLoop) -> SocketHandler {
        let configuration = LinkConfiguration(
            server: LocalServer(Self.database()), receiveMTU: 517, log: Logger(label: "peer"))
        let link = Link(to: socket.peer, as: .peripheral, configuration, on: loop)
        let made = Connection(link, in: DetachedSession(on: loop))
        state.withLock { $0.connections.append(made) }
        return KernelChannel.accept(socket, .attribute, on: loop) { link.accept($0) }
    }
}

/// Bytes with their position as value.
func pattern(_ count: Int, from start: Int = 0) -> [UInt8] {
    (start..<start + count).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8) ^ ($0 >> 16)) }
}
