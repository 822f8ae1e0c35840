// Lists devices for three seconds with Apple's API: the same code runs on Apple's systems.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small CoreBluetoothScanner
//     -… Pulse-Z1
import CoreBluetooth

final class Scanner: NSObject, CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .poweredOn: central.scanForPeripherals(withServices: [CBUUID(string: "180F")])
        case .unknown, .resetting: break
        default:
            print("Bluetooth is not usable: \(central.state)")
            exit(1)
        }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        print(RSSI, peripheral.name ?? "-")
    }
}

@main struct CoreBluetoothScanner {
    static func main() async throws {
        let scanner = Scanner()
        let central = CBCentralManager(delegate: scanner, queue: nil)
        try await Task.sleep(for: .seconds(3))
        // The manager does not retain its delegate.
        withExtendedLifetime(scanner) { central.stopScan() }
    }
}
