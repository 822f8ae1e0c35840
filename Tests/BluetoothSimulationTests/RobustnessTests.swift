import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

struct RobustnessTests {
    @Test func noCommandBytesHurtAController() async throws {
        let parameters = LEConnectionParameters(
            intervalMinimum: 24, intervalMaximum: 40, latency: 0, supervisionTimeout: 42)
        let peer = LEPeerAddress(BluetoothAddress(0xC000_0000_0001, kind: .random))
        let commands = try [
            AnyHCICommand(extendedScan), AnyHCICommand(LESetExtendedScanEnable(isEnabled: true, duration: 1)),
            AnyHCICommand(LESetExtendedAdvertisingParameters(advertisingHandle: 1, properties: .legacyConnectable)),
            AnyHCICommand(
                LESetExtendedAdvertisingData(LEExtendedAdvertisingData(advertisingHandle: 1, data: [2, 1, 6]))),
            AnyHCICommand(
                LESetExtendedAdvertisingEnable(true, sets: [LEAdvertisingSetEnable(advertisingHandle: 1, duration: 1)])),
            AnyHCICommand(
                LEExtendedCreateConnection(
                    peer: peer, le1M: LEInitiatingParameters(scanInterval: 4, scanWindow: 4, parameters: parameters))),
            AnyHCICommand(LECreateConnectionCancel()), AnyHCICommand(LEConnectionUpdate(1, parameters)),
            AnyHCICommand(LESetDataLength(1, octets: 251, time: 2120)),
            AnyHCICommand(LESetPHY(1, LEPHYPreference(transmit: .le2M, receive: nil))),
            AnyHCICommand(LEAddDeviceToFilterAcceptList(.device(peer.address))), AnyHCICommand(HCIReadRSSI(1)),
            AnyHCICommand(HCIDisconnect(1, reason: .remoteUserTerminatedConnection)), AnyHCICommand(HCIReset()),
        ]
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let peripheral = SimulatedPeripheral(on: radio) { _ in Echo() }
        try await radio.run {
            let channel = try kernel.connect(to: peripheral.address)
            #expect(await channel.tap.next() == .writable)
            let user = try kernel.hci(filter: HCISocketFilter(packetTypes: 0, events: 0))
            for command in commands {
                for packet in mutations(of: try command.packet()) { user.send(packet) }
                try await radio.sleep(for: .milliseconds(50))
            }
        }
        radio.close()
    }

    @Test func noCommandBytesHurtTheManagement() async throws {
        let peer = ManagementAddress(BluetoothAddress(0xC000_0000_0001, kind: .random))
        let commands: [any ManagementCommand] = [
            ManagementSetPowered(true), ManagementSetLowEnergy(true), ManagementSetStaticAddress(peer.address),
            ManagementSetSecureConnections(.on),
            ManagementSetIOCapability(.displayYesNo), ManagementStartDiscovery(.lowEnergy),
            ManagementStopDiscovery(.lowEnergy),
            ManagementStartServiceDiscovery(.lowEnergy, rssiThreshold: -80, services: [0x180F]),
            ManagementAddAdvertising(
                instance: 1, flags: .connectable, duration: 1, timeout: 1, advertisingData: [2, 0x0A, 4]),
            ManagementAddExtendedAdvertisingParameters(
                instance: 2, flags: .secondaryLE2M, timeout: 1, intervals: .init(minimum: 32, maximum: 32)),
            ManagementAddExtendedAdvertisingData(instance: 2, advertisingData: [2, 0x0A, 4]),
            ManagementRemoveAdvertising(0), ManagementSetAdvertising(.connectable),
            ManagementAddDevice(peer, .autoConnect), ManagementRemoveDevice(.any),
            ManagementPairDevice(peer, .noInputNoOutput), ManagementUserPasskeyReply(peer, passkey: 1),
            ManagementDisconnect(peer),
            ManagementUnpairDevice(peer, disconnect: true), ManagementGetConnectionInformation(peer),
            ManagementLoadIdentityResolvingKeys([]),
            ManagementLoadLongTermKeys([
                LongTermKey(address: peer.address, kind: .authenticated, isCentral: true, value: .zero)
            ]),
            ManagementLoadConnectionParameters([
                DeviceConnectionParameters(
                    address: peer.address,
                    .init(intervalMinimum: 6, intervalMaximum: 6, latency: 0, supervisionTimeout: 10))
            ]),
        ]
        for family in [HCICommandFamily.legacy, .extended] {
            let radio = SimulatedRadio()
            let kernel = radio.makeKernel(adapters: [SimulatedController(family: family)])
            SimulatedPeripheral(on: radio, address: peer.address) { _ in Echo() }
            try await radio.run {
                let user = try kernel.management()
                user.socket.setReading(false)
                for command in commands {
                    for packet in mutations(of: try command.packet(for: 0)) {
                        user.send(packet)
                        while user.receive() != nil {}
                    }
                    try await radio.sleep(for: .milliseconds(50))
                }
                try await radio.sleep(for: .seconds(30))
            }
            radio.close()
        }
    }

    @Test func aSimulationThatIsTornDownLeavesNothingBehind() async throws {
        weak var leaked: SimulatedRadio?
        do {
            let radio = SimulatedRadio()
            leaked = radio
            let kernel = radio.makeKernel()
            let peripheral = SimulatedPeripheral(on: radio) { _ in Echo() }
            try await radio.run {
                let owner = Owner()
                let channel = try kernel.connect(to: peripheral.address)
                #expect(await channel.tap.next() == .writable)
                // The handler retains its owner, and the owner the socket.
                let socket = try kernel.openManagement { _ in _ = owner }
                owner.socket.withLock { $0 = socket }
            }
            radio.close()
        }
        #expect(leaked == nil)
    }
}

private final class Owner: Sendable {
    let socket = Mutex<(any PacketSocket)?>(nil)
}
