import CoreBluetooth

@main
struct Program {
    static func main() {
        let monitor = HeartRateMonitor { line in
            FileHandle.standardOutput.write(Data((line + "\n").utf8))
        }
        // Callbacks come on the main queue, which somebody has to run where there is no app.
        withExtendedLifetime(monitor) { dispatchMain() }
    }
}
