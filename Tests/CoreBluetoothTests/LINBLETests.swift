import BluetoothLE
import CoreBluetooth
import LINBLE
import SimulatedKernel
import SimulatedLINBLE
import Synchronization
import TestSupport
import Testing

/// A program that sends everything it has to a LINBLE, each chunk from within the one before.
private final class Sender: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    enum UART {
        static let service = CBUUID(string: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8")
        static let fromDevice = CBUUID(string: "27ADC9CB-35EB-465A-9154-B8FF9076F3E8")
        static let toDevice = CBUUID(string: "27ADC9CC-35EB-465A-9154-B8FF9076F3E8")
    }

    let journal = Journal<String>()
    private let byteCount: Int
    private var rest: ArraySlice<UInt8>
    private let chunkLength: Int?
    private var central: CBCentralManager?
    private var peripheral: CBPeripheral?
    private var target: CBCharacteristic?
    private var saved: Data?
    private(set) var received: [UInt8] = []
    private var depth = 0
    private(set) var greatestDepth = 0
    private(set) var pauses = 0

    init(_ bytes: [UInt8], chunkLength: Int?, queue: DispatchQueue) {
        byteCount = bytes.count
        rest = bytes[...]
        self.chunkLength = chunkLength
        super.init()
        central = CBCentralManager(delegate: self, queue: queue, options: nil)
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else { return }
        central.scanForPeripherals(withServices: [UART.service], options: nil)
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        central.stopScan()
        self.peripheral = peripheral
        central.connect(peripheral, options: nil)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.delegate = self
        peripheral.discoverServices([UART.service])
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard let service = peripheral.services?.first(where: { $0.uuid == UART.service }) else { return }
        peripheral.discoverCharacteristics([UART.fromDevice, UART.toDevice], for: service)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        target = service.characteristics?.first { $0.uuid == UART.toDevice }
        guard let source = service.characteristics?.first(where: { $0.uuid == UART.fromDevice }) else { return }
        peripheral.setNotifyValue(true, for: source)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        journal.add("online \(characteristic.isNotifying)")
        if let chunk = nextChunk() { send(chunk) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        received += characteristic.value ?? Data()
        if received.count == byteCount { journal.add("all received") }
    }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
        if let saved { send(saved) }
    }

    private func nextChunk() -> Data? {
        guard !rest.isEmpty, let peripheral else { return nil }
        let count = min(chunkLength ?? peripheral.maximumWriteValueLength(for: .withoutResponse), rest.count)
        defer { rest = rest.dropFirst(count) }
        return Data(rest.prefix(count))
    }

    private func send(_ chunk: Data) {
        guard let peripheral, let target else { return }
        depth += 1
        defer { depth -= 1 }
        greatestDepth = max(greatestDepth, depth)
        guard peripheral.canSendWriteWithoutResponse else {
            saved = chunk
            pauses += 1
            return
        }
        peripheral.writeValue(chunk, for: target, type: .withoutResponse)
        saved = nil
        if let next = nextChunk() { send(next) } else { journal.add("all sent") }
    }
}

@Suite struct LINBLETests {
    /// The bytes come back from the LINBLE's UART, or are counted, so that what arrives can be compared.
    @Test(
        arguments: [(64, nil, nil), (64, nil, 4608), (1, nil, 4608), (64, 20, nil), (1, nil, nil)]
            as [(Int, Int?, Int?)])
    func aMebibyteArrives(credits: Int, chunkLength: Int?, sendBuffer: Int?) async throws {
        let bytes = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        try await World.run(writeCredits: credits, sendBuffer: sendBuffer) { world in
            let linble = SimulatedLINBLE(on: world.radio, .init(wiring: .loopback, bufferCapacity: 1 << 21))
            let sender = Sender(bytes, chunkLength: chunkLength, queue: world.queue)
            let finished = await sender.journal.wait(on: world.radio.loop, limit: .seconds(3000)) {
                $0.contains("all received")
            }
            #expect(finished != nil)
            #expect(linble.statistics.bytesFromHosts == 1 << 20)
            #expect(linble.statistics.bytesIgnoredOffline == 0)
            #expect(sender.received == bytes)
            #expect(sender.greatestDepth <= credits + 1)
            #expect(sender.pauses > 0)
        }
    }
}
