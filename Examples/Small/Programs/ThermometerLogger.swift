// Logs a thermometer as lines of CSV, also across lost links and an unplugged adapter, until Ctrl-C.
//
//     $ BLUETOOTH_SIMULATION=Examples/Small/interrupted.json swift run --package-path Examples/Small ThermometerLogger
//     …,36.5,
//     …,36.7,
//     …,,noAdapter
//     …,,resumed
//     …,36.5,
//     …,36.7,
//     ^C
//
// The first column is the time in seconds since 1970. The log, on standard error, also says that the adapter is gone.
// Without a thermometer within ten seconds the program ends.
import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Glibc

@main struct ThermometerLogger {
    static func main() async {
        do throws(BluetoothError) {
            let adapter = try await Adapter.open(power: .powerOn, on: .environment)
            let found = try await adapter.firstAdvertisement(options: ScanOptions(filter: .service(.healthThermometer)))
            let kept = try adapter.keepConnected(to: found)
            for try await notice in try await kept.subscribe(to: .temperatureMeasurement) {
                switch notice {
                case .value(let measurement): print("\(time(nil)),\(measurement.celsius),")
                case .interrupted(let reason): print("\(time(nil)),,\(reason.code)")
                case .resumed: print("\(time(nil)),,resumed")
                }
                fflush(nil)  // for a file or a pipe, which get a line at once then
            }
            await kept.disconnect()
        } catch {
            print(error)
            exit(error.exitStatus)
        }
    }
}
