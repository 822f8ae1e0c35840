import BluetoothLE
import TestSupport
import Testing

import CoreBluetooth

/// A program that publishes protected characteristics, and records its callbacks.
private final class Vault: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    let journal = Journal<String>()
    let fixture: Fixture
    let service = CBMutableService(type: SecureDevice.service, primary: true)
    let dynamic = CBMutableCharacteristic(
        type: CBUUID(string: "FFF1"), properties: [.read, .write, .notifyEncryptionRequired], value: nil,
        permissions: [.readEncryptionRequired, .writeEncryptionRequired])
    let indicated = CBMutableCharacteristic(
        type: CBUUID(string: "FFF2"), properties: [.indicateEncryptionRequired], value: nil, permissions: [])
    let open = CBMutableCharacteristic(
        type: CBUUID(string: "FFF4"), properties: [.read], value: Data([1]), permissions: .readable)
    let fixed = CBMutableCharacteristic(
        type: CBUUID(string: "FFF5"), properties: [.read], value: Data([5]), permissions: .readEncryptionRequired)
    private var manager: CBPeripheralManager?

    init(_ fixture: Fixture) {
        self.fixture = fixture
        super.init()
        service.characteristics = [dynamic, indicated, open, fixed]
        manager = CBPeripheralManager(delegate: self, queue: fixture.queue)
    }

    func update(_ value: UInt8, of characteristic: CBMutableCharacteristic) -> Bool {
        manager?.updateValue(Data([value]), for: characteristic, onSubscribedCentrals: nil) ?? false
    }

    private func note(_ entry: String) {
        if !fixture.isOnQueue { Issue.record("“\(entry)” was called back off the queue") }
        journal.add(entry)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        peripheral.add(service)
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Vault", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
        ])
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        note("advertising")
    }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        note("subscribed \(characteristic.uuid)")
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        note("read")
        request.value = Data([7])
        peripheral.respond(to: request, withResult: .success)
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        note("wrote")
        peripheral.respond(to: requests[0], withResult: .success)
    }
}

/// Centrals that have to pair for a program's characteristics.
@Suite struct ServerPairingTests {
    /// Runs a test with such a program and an agent, and one on another machine that has discovered it.
    private static func run(
        agent: (any PairingAgent)?, _ story: @escaping @Sendable (Fixture, Vault, Recorder) async throws -> Void
    ) async throws {
        try await Fixture.run(agent: agent) { fixture in
            let vault = Vault(fixture)
            await fixture.wait(for: "advertising", in: vault.journal)
            let client = await fixture.elsewhere { await Recorder.start(fixture) }
            await client.reach(SecureDevice.service, named: "Vault")
            try await story(fixture, vault, client)
        }
    }

    @Test func aCentralPairsAndThenReadsWritesAndSubscribes() async throws {
        try await Self.run(agent: JustWorksPairingAgent()) { fixture, vault, client in
            await client.perform(with: { peripheral in
                // The properties of the program differ from those on the air.
                let first = peripheral.characteristic("FFF1", in: "FFF0")
                #expect(first?.properties == [.read, .write, .notify])
                #expect(peripheral.characteristic("FFF2", in: "FFF0")?.properties == .indicate)
                if let first { peripheral.readValue(for: first) }
            })
            await client.wait(for: "value FFF1 = 7")
            // It was asked once: requests before the pairing were refused without it.
            #expect(vault.journal.entries == ["advertising", "read"])
            await client.perform(with: { peripheral in
                guard let dynamic = peripheral.characteristic("FFF1", in: "FFF0"),
                    let indicated = peripheral.characteristic("FFF2", in: "FFF0")
                else { return }
                peripheral.writeValue(Data([1]), for: dynamic, type: .withResponse)
                peripheral.setNotifyValue(true, for: dynamic)
                peripheral.setNotifyValue(true, for: indicated)
            })
            await client.wait(for: "notifying FFF2 true")
            await fixture.wait(for: "subscribed FFF2", in: vault.journal)
            await fixture.onQueue {
                #expect(vault.update(3, of: vault.dynamic))
                #expect(vault.update(4, of: vault.indicated))
            }
            await client.wait(for: "value FFF2 = 4")
            #expect(
                client.take() == [
                    "value FFF1 = 7", "wrote FFF1", "notifying FFF1 true", "notifying FFF2 true", "value FFF1 = 3",
                    "value FFF2 = 4",
                ])
            #expect(vault.journal.entries == ["advertising", "read", "wrote", "subscribed FFF1", "subscribed FFF2"])
        }
    }

    @Test(arguments: ["read", "fixed", "write", "FFF1", "FFF2"]) func eachOfThemPairs(_ access: String) async throws {
        try await Self.run(agent: JustWorksPairingAgent()) { fixture, vault, client in
            await client.perform(with: "FFF1", in: "FFF0") { peripheral, dynamic in
                switch access {
                case "read": peripheral.readValue(for: dynamic)
                case "fixed":
                    if let fixed = peripheral.characteristic("FFF5", in: "FFF0") { peripheral.readValue(for: fixed) }
                case "write": peripheral.writeValue(Data([1]), for: dynamic, type: .withResponse)
                default:
                    guard let subject = peripheral.characteristic(access, in: "FFF0") else { return }
                    peripheral.setNotifyValue(true, for: subject)
                }
            }
            let answers = ["read": "value FFF1 = 7", "fixed": "value FFF5 = 5", "write": "wrote FFF1"]
            await client.wait(for: answers[access] ?? "notifying \(access) true")
            #expect(client.take().count == 1)
        }
    }

    @Test func whoDoesNotPairIsRefusedAndTheProgramIsNotAsked() async throws {
        try await Self.run(agent: nil) { fixture, vault, client in
            let address = try #require(fixture.kernel.adapters().first?.address)
            await client.disconnect()
            await client.wait(for: "disconnected")
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.radio.makeKernel(adapters: [.fresh]))
            var options = ConnectionOptions(timeout: .seconds(10))
            options.security.policy = .never
            let connection = try await adapter.connect(to: address, options: options)
            let services = try await connection.discover()
            let dynamic = try #require(services.characteristic("FFF1", in: "FFF0"))
            let indicated = try #require(services.characteristic("FFF2", in: "FFF0"))
            let open = try #require(services.characteristic("FFF4", in: "FFF0"))
            let configuration = try #require(indicated.descriptor(.clientCharacteristicConfiguration))
            let refusals = [
                await failure { _ = try await connection.read(dynamic) },
                await failure { try await connection.write([1], to: dynamic) },
                await failure { try await connection.write([2, 0], to: configuration) },
            ]
            for refusal in refusals { #expect(refusal?.cause == .attribute(.insufficientAuthentication)) }
            #expect(try await connection.read(open) == [1])
            await connection.disconnect()
            await adapter.close()
            #expect(vault.journal.entries == ["advertising"])
        }
    }

    /// Unknown centrals are not paired with unless the program or the environment allows it.
    @Test func withoutAnAgentCentralsAreRefused() async throws {
        try await Self.run(agent: nil) { fixture, vault, client in
            await client.perform(with: "FFF1") { $0.readValue(for: $1) }
            await client.wait(for: "disconnected CBError 15")
            #expect(client.take() == ["value FFF1 CBATTError 5", "disconnected CBError 15"])
            #expect(vault.journal.entries == ["advertising"])
        }
    }
}
