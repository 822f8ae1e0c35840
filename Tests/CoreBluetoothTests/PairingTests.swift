import BluetoothLE
import BluetoothSimulation
import Testing

@testable import CoreBluetooth

/// A device that requires encrypted links.
struct SecureDevice: Sendable {
    static let service = CBUUID(string: "FFF0")
    /// Requires encryption, without authentication.
    static let encrypted = "FFF1"
    /// Requires encryption with authentication.
    static let authenticated = "FFF2"
    /// Requires a longer key than the protocol allows.
    static let keyed = "FFF3"

    let server: SimulatedGATTServer
    let peripheral: SimulatedPeripheral

    init(on radio: SimulatedRadio, _ security: SimulatedSecurity = SimulatedSecurity()) throws {
        server = try SimulatedGATTServer([
            GATTService(
                0xFFF0,
                characteristics: [
                    GATTCharacteristic(
                        0xFFF1, properties: [.read, .write, .notify],
                        permissions: [.read, .readEncrypted, .write, .writeEncrypted], value: .stored([7]),
                        descriptors: [
                            GATTDescriptor(
                                .clientCharacteristicConfiguration, permissions: [.read, .write, .writeEncrypted]),
                            GATTDescriptor(
                                .characteristicUserDescription, permissions: [.read, .readEncrypted],
                                value: .stored(Array("secret".utf8))),
                        ]),
                    GATTCharacteristic(
                        0xFFF2, properties: [.read], permissions: [.read, .readAuthenticated], value: .stored([8])),
                    GATTCharacteristic(0xFFF3, properties: [.read]),
                ])
        ])
        server.onRead { _, _ in .refuse(.insufficientEncryptionKeySize) }
        peripheral = SimulatedPeripheral(
            on: radio, address: Device.address,
            advertisements: [
                try SimulatedAdvertisement(fields: [.localName("Vault"), .services(["FFF0"])])
            ], gatt: server)
        peripheral.setSecurity(security)
    }

    /// The security level of the link to the one central.
    var level: SecurityLevel? { peripheral.links.first?.security.level }
}

extension Recorder {
    /// Connects to the peripheral once more, and discovers its services.
    func reachOnceMore() async {
        _ = await reachAgain()
        await discoverServices()
        await discoverCharacteristics(upTo: "FFF0")
        _ = take()
    }

    /// Calls `body` with a discovered characteristic, on the queue.
    func perform(with uuid: String, _ body: @escaping @Sendable (CBPeripheral, CBCharacteristic) -> Void) async {
        await perform(with: uuid, in: "FFF0", body)
    }
}

/// Protected attributes cause pairing, as on Apple's systems, where only the system asks the user.
@Suite struct PairingTests {
    enum Access: CaseIterable, Sendable {
        case read, write, longWrite, subscribe, descriptor

        func perform(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
            switch self {
            case .read: peripheral.readValue(for: characteristic)
            case .write: peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
            case .longWrite: peripheral.writeValue(Data(count: 300), for: characteristic, type: .withResponse)
            case .subscribe: peripheral.setNotifyValue(true, for: characteristic)
            case .descriptor: peripheral.discoverDescriptors(for: characteristic)
            }
        }

        /// The program's callback on success.
        var answer: String {
            switch self {
            case .read: "value FFF1 = 7"
            case .write, .longWrite: "wrote FFF1"
            case .subscribe: "notifying FFF1 true"
            case .descriptor: "descriptor 2901"
            }
        }
    }

    /// Runs a test with a program that has discovered a device which requires encrypted links.
    private static func run(
        _ security: SimulatedSecurity = SimulatedSecurity(), agent: (any PairingAgent)? = nil,
        _ story: @escaping @Sendable (Fixture, SecureDevice, Recorder) async throws -> Void
    ) async throws {
        try await Fixture.run(agent: agent) { fixture in
            let device = try SecureDevice(on: fixture.radio, security)
            let program = await Recorder.start(fixture)
            await program.reach(SecureDevice.service, named: "Vault")
            try await story(fixture, device, program)
        }
    }

    @Test(arguments: Access.allCases) func everyAccessPairsByItself(_ access: Access) async throws {
        try await Self.run { _, device, program in
            if access == .descriptor {
                program.then["descriptors FFF1"] = { program, characteristic in
                    let all = (characteristic as? CBCharacteristic)?.descriptors ?? []
                    for descriptor in all where descriptor.uuid.uuidString == "2901" {
                        program.peripherals.first?.readValue(for: descriptor)
                    }
                }
            }
            #expect(device.level == .low)
            await program.perform(with: "FFF1") { access.perform($0, $1) }
            await program.wait(for: access.answer)
            #expect(program.take().filter { $0 != "descriptors FFF1" } == [access.answer])
            #expect(device.level == .medium)
            // The following requests need no pairing.
            device.peripheral.setSecurity(SimulatedSecurity(response: .refuse))
            await program.perform(with: "FFF1") { $0.setNotifyValue(true, for: $1) }
            await program.wait(for: "notifying FFF1 true")
            await device.server.notify([5], of: try #require(device.server.handle(of: 0xFFF1, in: 0xFFF0)))
            await program.wait(for: "value FFF1 = 5")
        }
    }

    @Test func requestsKeepTheirOrderWhilePairing() async throws {
        try await Self.run { _, _, program in
            await program.perform(with: "FFF1") { peripheral, characteristic in
                peripheral.readRSSI()
                peripheral.readValue(for: characteristic)
                peripheral.writeValue(Data([9]), for: characteristic, type: .withResponse)
                peripheral.readValue(for: characteristic)
                peripheral.discoverServices(nil)
            }
            await program.wait(for: "services", count: 2)
            #expect(program.take() == ["rssi -50", "value FFF1 = 7", "wrote FFF1", "value FFF1 = 9", "services"])
        }
    }

    @Test func aPasskeyThatTheDeviceShows() async throws {
        let security = SimulatedSecurity(ioCapability: .displayOnly, requiresProtection: true, passkey: 4711)
        try await Self.run(security, agent: FixedPasskeyAgent(try #require(Passkey(4711)))) { _, device, program in
            await program.perform(with: "FFF2") { $0.readValue(for: $1) }
            await program.wait(for: "value FFF2 = 8")
            #expect(device.level == .fips)
        }
        // A wrong passkey: the device's refusal is reported, and then the end of the link, which the pairing has cost.
        try await Self.run(security, agent: FixedPasskeyAgent(try #require(Passkey(1)))) { _, _, program in
            await program.perform(with: "FFF2") { $0.readValue(for: $1) }
            await program.wait(for: "disconnected CBError 15")
            #expect(program.take() == ["value FFF2 CBATTError 5", "disconnected CBError 15"])
        }
        // Without an agent the link is encrypted but not authenticated; it stays up.
        try await Self.run(SimulatedSecurity(ioCapability: .displayOnly)) { _, device, program in
            await program.perform(with: "FFF2") { peripheral, characteristic in
                peripheral.readValue(for: characteristic)
                peripheral.readRSSI()
            }
            await program.wait(for: "rssi -50")
            #expect(program.take() == ["value FFF2 CBATTError 5", "rssi -50"])
            #expect(device.level == .medium)
        }
    }

    @Test func aKeyThatIsTooShortIsTold() async throws {
        try await Self.run { _, device, program in
            await program.perform(with: "FFF3") { peripheral, characteristic in
                peripheral.readValue(for: characteristic)
                peripheral.readRSSI()
            }
            await program.wait(for: "rssi -50")
            #expect(program.take() == ["value FFF3 CBATTError 12", "rssi -50"])
            #expect(device.level == .medium)
        }
    }

    @Test(arguments: [SimulatedSecurity.Response.refuse, .silence])
    func aDeviceThatDoesNotPair(_ response: SimulatedSecurity.Response) async throws {
        try await Self.run(SimulatedSecurity(response: response)) { fixture, device, program in
            let start = fixture.radio.now
            await program.perform(with: "FFF1") { peripheral, characteristic in
                peripheral.readValue(for: characteristic)
                peripheral.readValue(for: characteristic)
            }
            await program.wait(for: "disconnected CBError 15")
            // The second request was never answered.
            #expect(program.take() == ["value FFF1 CBATTError 5", "disconnected CBError 15"])
            #expect(start.duration(to: fixture.radio.now) < .seconds(response == .refuse ? 10 : 45))
            #expect(program.peripherals.first?.state == .disconnected)
            // No state remains.
            device.peripheral.setSecurity(SimulatedSecurity())
            await fixture.settle { device.peripheral.links.isEmpty }
            await program.reachOnceMore()
            await program.perform(with: "FFF1") { $0.readValue(for: $1) }
            await program.wait(for: "value FFF1 = 7")
        }
    }

    @Test func aDeviceThatHasLostItsBond() async throws {
        try await Self.run { fixture, device, program in
            await program.perform(with: "FFF1") { $0.readValue(for: $1) }
            await program.wait(for: "value FFF1 = 7")
            await program.disconnect()
            await fixture.settle { device.peripheral.links.isEmpty }
            device.peripheral.forgetBonds()
            _ = program.take()
            await program.perform { manager, program in
                if let peripheral = program.peripherals.first { manager.connect(peripheral) }
            }
            // Any device can have its address, so that nothing is read from it.
            await program.wait(for: "failed CBError 14")
            #expect(program.take() == ["failed CBError 14"])
        }
    }

    @Test func withoutTheCapabilityTheRefusalIsTold() async throws {
        try await Fixture.run { fixture in
            _ = try SecureDevice(on: fixture.radio)
            let program = await Recorder.start(fixture)
            await program.reach(SecureDevice.service, named: "Vault")
            fixture.kernel.hasNetAdmin = false
            await program.perform(with: "FFF1") { peripheral, characteristic in
                peripheral.readValue(for: characteristic)
                peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
                peripheral.setNotifyValue(true, for: characteristic)
            }
            await program.wait(for: "notifying FFF1 false CBATTError 5")
            #expect(
                program.take() == [
                    "value FFF1 CBATTError 5", "wrote FFF1 CBATTError 5", "notifying FFF1 false CBATTError 5",
                ])
        }
    }

    /// A device that requests encryption as soon as the link is up.
    @Test func aDeviceThatBeginsThePairing() async throws {
        try await Self.run { fixture, device, program in
            device.peripheral.requestSecurity()
            await fixture.settle { device.level == .medium }
            #expect(program.take() == [])
        }
        try await Self.run(agent: RefusingPairingAgent()) { fixture, device, program in
            device.peripheral.requestSecurity()
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(device.level ?? .low == .low)
        }
    }

    @Test func aRestartedProgramIsBonded() async throws {
        let bonds = BondStorage.store(MemoryBondStore())
        try await Fixture.run(bonds: bonds) { fixture in
            let device = try SecureDevice(on: fixture.radio)
            for round in 0..<2 {
                let program = await Recorder.start(fixture)
                await program.reach(SecureDevice.service, named: "Vault")
                await program.perform(with: "FFF1") { $0.readValue(for: $1) }
                await program.wait(for: "value FFF1 = 7")
                #expect(program.take() == ["value FFF1 = 7"])
                #expect(device.level == .medium, "in round \(round)")
                await fixture.onQueue {
                    program.manager = nil
                    program.peripherals = []
                }
                await fixture.settle { device.peripheral.links.isEmpty && fixture.kernel.links(adapter: 0).isEmpty }
                device.peripheral.setSecurity(SimulatedSecurity(response: .refuse))
            }
        }
    }

    /// A device whose identity address is known has one identifier, whatever private address it uses.
    @Test func aBondedDeviceThatHidesIsKnown() async throws {
        let identity = BluetoothAddress(0xC0DE_0000_0001, kind: .random)
        try await Self.run(SimulatedSecurity(identity: identity)) { fixture, device, program in
            await program.perform(with: "FFF1") { $0.readValue(for: $1) }
            await program.wait(for: "value FFF1 = 7")
            await program.disconnect()
            await fixture.settle { device.peripheral.links.isEmpty }
            let address = try #require(device.peripheral.makePrivateAddress())
            device.peripheral.setAdvertisements([SimulatedAdvertisement(address: address)])
            _ = program.take()
            await program.perform { manager, program in
                program.peripherals = []
                manager.scanForPeripherals(withServices: nil)
            }
            await program.wait(for: "discovered ?")
            #expect(program.peripherals.map(\.identifier) == [UUID(identity)])
        }
    }
}
