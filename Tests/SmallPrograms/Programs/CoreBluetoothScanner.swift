// Examples/Small/Programs/CoreBluetoothScanner.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import CoreBluetooth

extension SmallPrograms {
    @MainActor static func runCoreBluetoothScanner() async throws {
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

        struct CoreBluetoothScanner {
            @MainActor static func main() async throws {
                let scanner = Scanner()
                let central = CBCentralManager(delegate: scanner, queue: nil)
                try await Task.sleep(for: .seconds(3))
                // The manager does not retain its delegate.
                withExtendedLifetime(scanner) { central.stopScan() }
            }
        }
        try await CoreBluetoothScanner.main()
    }
}
