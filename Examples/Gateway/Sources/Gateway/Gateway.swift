// Prints the values of a heart rate sensor and the devices around, as a service: SIGTERM ends it in order.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Gateway
import BluetoothLE
import BluetoothProfiles
import BluetoothServices
import BluetoothSimulation
import Glibc
import Logging
import ServiceLifecycle

@main struct Gateway {
    static func main() async throws {
        // MetricsSystem.bootstrap(…) with the backend of your choice, before the metrics are made.
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
        // Scans again when an adapter that was powered off or unplugged is back.
        let scan = ScanOptions(duplicates: .once, whenAdapterUnavailable: .resume)
        let metrics = BluetoothMetrics()
        let group = ServiceGroup(
            services: [
                AdapterService(adapter, metrics: metrics),
                ScanService(on: adapter, options: scan, metrics: metrics) { print($0) },
                ConnectionService(sensor, metrics: metrics) { sensor in
                    for try await update in try await sensor.subscribe(to: .heartRateMeasurement) {
                        if case .value(let beat) = update { print(beat.rate, "beats/min") }
                    }
                },
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "gateway"))
        try await group.run()
    }
}
