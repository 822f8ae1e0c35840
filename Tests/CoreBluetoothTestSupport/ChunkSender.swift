import CoreBluetooth
import TestSupport

/// A program that sends all its bytes to a LINBLE, each chunk from within the write of the one before.
package final class ChunkSender: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    private enum UART {
        static let service = CBUUID(string: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8")
        static let fromDevice = CBUUID(string: "27ADC9CB-35EB-465A-9154-B8FF9076F3E8")
        static let toDevice = CBUUID(string: "27ADC9CC-35EB-465A-9154-B8FF9076F3E8")
    }

    /// The journal: `online true`, `all sent` and `all received`.
    package let journal = Journal<String>()
    private let byteCount: Int
    private var rest: ArraySlice<UInt8>
    private let chunkLength: Int?
    private let name: String?
    private var central: CBCentralManager?
    private var peripheral: CBPeripheral?
    private var target: CBCharacteristic?
    private var saved: Data?
    /// The received bytes.
    package private(set) var received: [UInt8] = []
    private var depth = 0
    /// The greatest depth of nested writes.
    package private(set) var greatestDepth = 0
    /// The number of waits for the ready callback.
    package private(set) var pauses = 0

    /// Scans for a LINBLE, and sends as soon as it is online.
    /// - Parameters:
    ///   - bytes: the bytes to send.
    ///   - chunkLength: the length of a chunk; nil for the maximum of a write without response.
    ///   - name: the LINBLE's name; nil for the first found.
    ///   - queue: the queue of the callbacks.
    package init(_ bytes: [UInt8], chunkLength: Int?, named name: String? = nil, queue: DispatchQueue) {
        byteCount = bytes.count
        rest = bytes[...]
        self.chunkLength = chunkLength
        self.name = name
        super.init()
        central = CBCentralManager(delegate: self, queue: queue, options: nil)
    }

    package func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else { return }
        central.scanForPeripherals(withServices: name == nil ? [UART.service] : nil, options: nil)
    }

    package func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        if let name, advertisementData[CBAdvertisementDataLocalNameKey] as? String != name { return }
        central.stopScan()
        self.peripheral = peripheral
        central.connect(peripheral, options: nil)
    }

    package func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.delegate = self
        peripheral.discoverServices([UART.service])
    }

    package func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard let service = peripheral.services?.first(where: { $0.uuid == UART.service }) else { return }
        peripheral.discoverCharacteristics([UART.fromDevice, UART.toDevice], for: service)
    }

    package func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        target = service.characteristics?.first { $0.uuid == UART.toDevice }
        guard let source = service.characteristics?.first(where: { $0.uuid == UART.fromDevice }) else { return }
        peripheral.setNotifyValue(true, for: source)
    }

    package func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        journal.add("online \(characteristic.isNotifying)")
        if let chunk = nextChunk() { send(chunk) }
    }

    package func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        received += characteristic.value ?? Data()
        if received.count == byteCount { journal.add("all received") }
    }

    package func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
        if let saved { send(saved) }
    }

    /// Releases the manager and the peripheral.
    package func end() {
        (central, peripheral, target) = (nil, nil, nil)
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
