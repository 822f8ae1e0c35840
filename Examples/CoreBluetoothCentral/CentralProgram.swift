import CoreBluetooth

@main
struct CentralProgram {
    static func main() {
        let monitor = HeartRateMonitor { line in
            FileHandle.standardOutput.write(Data((line + "\n").utf8))
        }
        // Callbacks run on the main queue, which a program without an app must run itself.
        withExtendedLifetime(monitor) { dispatchMain() }
    }
}
