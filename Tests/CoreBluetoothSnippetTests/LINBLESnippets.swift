import CoreBluetooth
import BluetoothSimulation
import LINBLESimulation
import TestSupport
import Testing

// The code of LINBLE's vendor, in our words: the identifiers, the look-ups, one write, and consecutive writes. The ids
// are those of the checklist of documented calls.

/// A1: the identifiers, stored in a class.
private class Identifiers {
    static let service = CBUUID(string: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8")
    static let incoming = CBUUID(string: "27ADC9CB-35EB-465A-9154-B8FF9076F3E8")
    static let outgoing = CBUUID(string: "27ADC9CC-35EB-465A-9154-B8FF9076F3E8")
}

private final class Terminal: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    let journal = Journal<String>()
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    private var manager: CBCentralManager!
    private var device: CBPeripheral?
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    private var outlet: CBCharacteristic!
    private var chunks: [Data]
    /// Whether it writes as soon as it has asked for notifications, as the documents do.
    private let isImpatient: Bool
    var received = Data()

    init(_ chunks: [Data], queue: DispatchQueue, isImpatient: Bool = false) {
        self.chunks = chunks
        self.isImpatient = isImpatient
        super.init()
        manager = CBCentralManager(delegate: self, queue: queue, options: nil)
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .poweredOn:
            central.scanForPeripherals(
                withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        case .resetting, .unsupported, .poweredOff: journal.add("no use: \(central.state.rawValue)")
        case .unauthorized: journal.add("not allowed")
        case .unknown: break
        @unknown default: break
        }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        // By the name in this advertisement: the peripheral's may be an older one.
        guard advertisementData[CBAdvertisementDataLocalNameKey] as? String == "LINBLE-Z1", device == nil else {
            return
        }
        device = peripheral
        central.stopScan()
        central.connect(peripheral, options: nil)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.delegate = self
        peripheral.discoverServices([Identifiers.service])
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
        guard let service = device?.services?.first(where: { $0.uuid == Identifiers.service }) else { return }
        peripheral.discoverCharacteristics([Identifiers.incoming, Identifiers.outgoing], for: service)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        lookUp(device)
    }

    /// A2 and A3: services and characteristics by their identifiers.
    private func lookUp(_ peripheral: CBPeripheral?) {
        guard let uart = peripheral?.services?.first(where: { $0.uuid == Identifiers.service }) else { return }
        guard let inlet = uart.characteristics?.first(where: { $0.uuid == Identifiers.incoming }) else { return }
        guard let outlet = uart.characteristics?.first(where: { $0.uuid == Identifiers.outgoing }) else { return }
        self.outlet = outlet
        peripheral?.setNotifyValue(true, for: inlet)
        if isImpatient, let peripheral { begin(peripheral) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
    ) {
        guard error == nil, characteristic.isNotifying else { return }
        journal.add("online")
        if !isImpatient { begin(peripheral) }
    }

    private func begin(_ peripheral: CBPeripheral) {
        guard !chunks.isEmpty else { return }
        // A4: one write.
        peripheral.writeValue(chunks.removeFirst(), for: outlet, type: .withoutResponse)
        if let next = nextChunk() { write(next) }
    }

    // A5: each chunk from within the one before it.
    private func write(_ chunk: Data) {
        guard let device = device else { return }
        if !device.canSendWriteWithoutResponse {
            waiting = chunk
            journal.add("waiting")
            return
        }
        device.writeValue(chunk, for: outlet, type: .withoutResponse)
        waiting = nil
        if let next = nextChunk() { write(next) }
    }

    private var waiting: Data?

    private func nextChunk() -> Data? { chunks.isEmpty ? nil : chunks.removeFirst() }

    // A6: continues with the pending chunk.
    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
        if !peripheral.canSendWriteWithoutResponse { journal.add("ready, but not so") }
        if let waiting { write(waiting) }
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        guard characteristic.uuid == Identifiers.incoming, let value = characteristic.value else { return }
        received.append(value)
        journal.add("received \(received.count)")
    }
}

@Suite struct LINBLESnippets {
    /// A2 to A4 in the documents' order, on a device that has Service Changed, to which the link subscribes meanwhile.
    @Test func oneWriteRightAfterTheSubscription() async throws {
        try await Fixture.run { fixture in
            let path = #filePath.components(separatedBy: "/Tests/")[0] + "/Examples/CoreBluetoothCentral/world.json"
            try SimulationFile(contentsOf: path).put(on: fixture.radio)
            let terminal = Terminal([Data([1, 0])], queue: fixture.queue, isImpatient: true)
            await fixture.wait(for: "received 2", in: terminal.journal)
            #expect(terminal.journal.entries == ["online", "received 2"])
            #expect(terminal.received == Data([1, 0]))
        }
    }

    @Test func twoWayData() async throws {
        try await Fixture.run { fixture in
            let linble = SimulatedLINBLE(on: fixture.radio, .init(attached: .loopback))
            let bytes = Data((0..<6000).map { UInt8(truncatingIfNeeded: $0) })
            // Slices, as chunks often are.
            let chunks = stride(from: 0, to: bytes.count, by: 20).map { bytes[$0..<min($0 + 20, bytes.count)] }
            let terminal = Terminal(chunks, queue: fixture.queue)
            await fixture.wait(for: "received 6000", in: terminal.journal)
            #expect(terminal.received == bytes)
            #expect(terminal.journal.entries.contains("waiting"))
            #expect(!terminal.journal.entries.contains("ready, but not so"))
            #expect(linble.statistics.bytesFromHosts == 6000)
        }
    }
}
