import BluetoothSimulation
import CoreBluetooth
import Foundation
import Testing

// Two programs as they are written, on two machines in one process.

private let level = CBUUID(string: "2A19")
private let battery = CBUUID(string: "180F")

/// A device, on a machine of its own.
private final class Sensor: NSObject, CBPeripheralManagerDelegate {
    private let service = CBMutableService(type: battery, primary: true)
    private var manager: CBPeripheralManager?

    init(queue: DispatchQueue) {
        super.init()
        service.characteristics = [
            CBMutableCharacteristic(type: level, properties: .read, value: nil, permissions: .readable)
        ]
        manager = CBPeripheralManager(delegate: self, queue: queue)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        peripheral.add(service)
        peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [battery]])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        // A slow program takes no virtual time.
        Thread.sleep(forTimeInterval: 0.002)
        request.value = Data([97])
        peripheral.respond(to: request, withResult: .success)
    }
}

/// The app under test.
private final class App: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    private(set) var levels: [UInt8] = []
    private var manager: CBCentralManager?
    private var sensor: CBPeripheral?

    init(queue: DispatchQueue) {
        super.init()
        manager = CBCentralManager(delegate: self, queue: queue)
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn { central.scanForPeripherals(withServices: [battery]) }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        sensor = peripheral
        central.stopScan()
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.delegate = self
        peripheral.discoverServices([battery])
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics([level], for: service) }
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        for characteristic in service.characteristics ?? [] { peripheral.readValue(for: characteristic) }
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        levels += characteristic.value.map { [UInt8]($0) } ?? []
    }

    func readAgain() {
        sensor?.services?.first?.characteristics?.first.map { sensor?.readValue(for: $0) }
    }
}

@Suite struct VirtualTimeTests {
    @Test func theLevelIsReadEveryMinute() async throws {
        // The body is that of the guide.
        let radio = SimulatedRadio()
        let queue = DispatchQueue(label: "app")
        try await radio.run {
            let sensor = await CBLinux.withKernel(radio.makeKernel()) { Sensor(queue: queue) }
            let app = await CBLinux.withKernel(radio.makeKernel()) { App(queue: queue) }
            for _ in 0..<30 {
                try await radio.sleep(for: .seconds(60))
                queue.sync { app.readAgain() }
            }
            try await radio.sleep(for: .seconds(60))
            #expect(queue.sync { app.levels } == [UInt8](repeating: 97, count: 31))
            withExtendedLifetime(sensor) {}
        }
        radio.close()
    }

    @Test func theGuideHasThisTest() throws {
        let path = #filePath.components(separatedBy: "/Tests/")[0] + "/Docs/Guide/PortingCoreBluetooth.md"
        let page = try String(contentsOfFile: path, encoding: .utf8)
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let body = source.components(separatedBy: "// The body is that of the guide.\n")[1]
            .components(separatedBy: "\n    }\n")[0]
        let code = body.split(separator: "\n").map { "\($0.dropFirst(8))\n" }.joined()
        #expect(page.contains("```swift\n\(code)```"))
    }
}
