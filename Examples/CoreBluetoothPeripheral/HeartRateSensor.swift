// Nothing in this file is specific to Linux: an app has the same code.
import CoreBluetooth

/// Acts as a heart rate sensor with one measurement per second and a control point.
final class HeartRateSensor: NSObject, CBPeripheralManagerDelegate {
    private var peripheralManager: CBPeripheralManager?
    private let log: (String) -> Void
    private let queue: DispatchQueue
    private var timer: (any DispatchSourceTimer)?
    private var rate: UInt8 = 72
    private var energy: UInt8 = 0

    private let measurement = CBMutableCharacteristic(
        type: CBUUID(string: "2A37"), properties: .notify, value: nil, permissions: .readable)
    private let location = CBMutableCharacteristic(
        type: CBUUID(string: "2A38"), properties: .read, value: Data([2]), permissions: .readable)
    private let controlPoint = CBMutableCharacteristic(
        type: CBUUID(string: "2A39"), properties: [.write, .read], value: nil, permissions: [.writeable, .readable])
    private let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)

    init(queue: DispatchQueue = .main, log: @escaping (String) -> Void) {
        self.log = log
        self.queue = queue
        super.init()
        service.characteristics = [measurement, location, controlPoint]
        peripheralManager = CBPeripheralManager(delegate: self, queue: queue)
    }

    /// Sends one measurement.
    func beat() {
        rate = rate < 80 ? rate + 1 : 72
        _ = peripheralManager?.updateValue(Data([0, rate]), for: measurement, onSubscribedCentrals: nil)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return log("Bluetooth is \(peripheral.state)") }
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error { return log("the service was not added: \(error.localizedDescription)") }
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Pulse", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
        ])
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        log(error.map { "not advertising: \($0.localizedDescription)" } ?? "advertising")
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        log("a central subscribed")
        guard timer == nil else { return }
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in self?.beat() }
        timer.schedule(deadline: .now(), repeating: 1)
        timer.resume()
        self.timer = timer
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        log("a central unsubscribed")
        guard measurement.subscribedCentrals?.isEmpty ?? true else { return }
        timer?.cancel()
        timer = nil
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        request.value = Data([energy])
        peripheral.respond(to: request, withResult: .success)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        // 1 resets the energy expended; any other value is an application error of the service.
        guard requests.allSatisfy({ $0.value == Data([1]) }) else {
            return peripheral.respond(to: first, withResult: CBATTError.Code(rawValue: 0x80) ?? .unlikelyError)
        }
        energy = 0
        peripheral.respond(to: first, withResult: .success)
    }
}
