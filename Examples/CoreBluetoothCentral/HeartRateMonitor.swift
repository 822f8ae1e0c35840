// Nothing in this file is specific to Linux: an app has the same code.
import CoreBluetooth

/// Connects to a heart rate sensor and logs its measurements.
final class HeartRateMonitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    private static let heartRateService = CBUUID(string: "180D")
    private static let heartRateMeasurement = CBUUID(string: "2A37")
    private static let bodySensorLocation = CBUUID(string: "2A38")

    private var centralManager: CBCentralManager?
    private var sensor: CBPeripheral?
    private let log: (String) -> Void

    init(queue: DispatchQueue? = nil, log: @escaping (String) -> Void) {
        self.log = log
        super.init()
        centralManager = CBCentralManager(delegate: self, queue: queue)
    }

    /// Stops scanning and disconnects.
    func stop() {
        centralManager?.stopScan()
        if let sensor { centralManager?.cancelPeripheralConnection(sensor) }
    }

    private func scan() {
        log("scanning for a heart rate sensor")
        centralManager?.scanForPeripherals(withServices: [Self.heartRateService])
    }

    // MARK: CBCentralManagerDelegate

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .poweredOn: scan()
        case .poweredOff: log("Bluetooth is off")
        case .unauthorized: log("this program is not permitted to use Bluetooth")
        case .unsupported: log("this machine has no Bluetooth LE")
        case .unknown, .resetting: break
        @unknown default: break
        }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard sensor == nil else { return }
        let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? peripheral.name
        log("found \(name ?? "a sensor without a name")")
        sensor = peripheral
        central.stopScan()
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        log("connected")
        peripheral.delegate = self
        peripheral.discoverServices([Self.heartRateService])
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        log("could not connect: \(error?.localizedDescription ?? "no reason given")")
        sensor = nil
        scan()
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        sensor = nil
        guard let error else { return log("disconnected") }
        log("lost: \(error.localizedDescription)")
        if central.state == .poweredOn { scan() }
    }

    // MARK: CBPeripheralDelegate

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard let service = peripheral.services?.first(where: { $0.uuid == Self.heartRateService }) else { return }
        peripheral.discoverCharacteristics([Self.heartRateMeasurement, Self.bodySensorLocation], for: service)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        for characteristic in service.characteristics ?? [] {
            switch characteristic.uuid {
            case Self.bodySensorLocation: peripheral.readValue(for: characteristic)
            case Self.heartRateMeasurement: peripheral.setNotifyValue(true, for: characteristic)
            default: break
            }
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return log("no value: \(error.localizedDescription)") }
        guard let value = characteristic.value else { return }
        switch characteristic.uuid {
        case Self.bodySensorLocation: log("worn on the \(location(value))")
        case Self.heartRateMeasurement: log("\(rate(value)) beats per minute")
        default: break
        }
    }

    private func location(_ value: Data) -> String {
        let places = ["body", "chest", "wrist", "finger", "hand", "ear lobe", "foot"]
        guard let number = value.first.map(Int.init), places.indices.contains(number) else { return "body" }
        return places[number]
    }

    /// One byte or two, depending on the flags.
    private func rate(_ value: Data) -> Int {
        let bytes = [UInt8](value)
        guard bytes.count > 1 else { return 0 }
        guard bytes[0] & 1 != 0, bytes.count > 2 else { return Int(bytes[1]) }
        return Int(bytes[1]) | Int(bytes[2]) << 8
    }
}
