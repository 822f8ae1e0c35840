import CoreBluetooth

@main
struct PeripheralProgram {
    static func main() {
        let sensor = HeartRateSensor { line in
            FileHandle.standardOutput.write(Data((line + "\n").utf8))
        }
        // Callbacks run on the main queue, which a program without an app must run itself.
        withExtendedLifetime(sensor) { dispatchMain() }
    }
}
