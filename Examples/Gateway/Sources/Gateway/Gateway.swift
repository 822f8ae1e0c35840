// Prints the values of a heart rate sensor and the devices around, as a service: SIGTERM ends it in order.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Gateway
import BluetoothLE
import BluetoothServices
import BluetoothSimulation
import Glibc
import Logging
import ServiceLifecycle

@main struct Gateway {
    static func main() async throws {
        // MetricsSystem.bootstrap(…) with the backend of your choice, before the first service is made.
        let adapter: Adapter
        let sensor: KeptConnection
        do throws(BluetoothError) {
            adapter = try await Adapter.open(power: .powerOn, on: .environment)
            let found = try await adapter.firstAdvertisement { $0.services.contains(.heartRate) }
            sensor = try adapter.keepConnected(to: found)
        } catch {
            print(error)
            exit(error.exitStatus)
        }
        let group = ServiceGroup(
            services: [
                AdapterService(adapter),
                ScanService(on: adapter, options: ScanOptions(duplicates: .once)) { print($0) },
                ConnectionService(sensor) { sensor in
                    for try await update in try await sensor.subscribe(to: .heartRateMeasurement, in: .heartRate) {
                        print(update)
                    }
                },
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "gateway"))
        try await group.run()
    }
}
