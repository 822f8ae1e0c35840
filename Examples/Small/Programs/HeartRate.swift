// Subscribes to a heart rate sensor, and prints five of its measurements.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/world.json swift run --package-path Examples/Small HeartRate
//     72 beats per minute
//     73 beats per minute
//     75 beats per minute
//     72 beats per minute
//     73 beats per minute
import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Glibc

@main struct HeartRate {
    static func main() async {
        do throws(BluetoothError) {
            let adapter = try await Adapter.open(power: .powerOn, on: .environment)
            let connection = try await adapter.connect { $0.services.contains(.heartRate) }
            let measurements = try await connection.subscribe(to: .heartRateMeasurement)
            for try await beat in measurements.prefix(5) { print(beat.rate, "beats per minute") }
            await connection.disconnect()
        } catch {
            print(error)
            exit(error.exitStatus)
        }
    }
}
