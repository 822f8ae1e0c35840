import BluetoothHost
import BluetoothPrimitives
import BluetoothSockets
import BluetoothManagement
import Testing

/// The remedies of errors.
@Suite struct RemedyTests {
    private static let operation = BluetoothError.Operation("test", adapter: "hci0")

    /// The remedies of the kernel's errors, the management interface's and the adapter's states.
    private static let remedies: Set<String> = {
        let environments = [
            HostEnvironment(executablePath: "/opt/program"),
            HostEnvironment(isBluetoothDaemonRunning: true),
        ]
        var errors: [BluetoothError?] = [
            .noAdapter(operation), .adapterWentOff(operation), .notPermitted(operation),
            .unavailable(.lowEnergyOff, operation), .unavailable(.poweredOff, operation),
            .unavailable(.blocked(isHard: true), operation), .unavailable(.blocked(isHard: false), operation),
            .unavailable(.absent, operation), .unavailable(.unsupported, operation),
        ]
        for number in 1...133 as ClosedRange<Int32> {
            let error = KernelError("call", ErrorNumber(rawValue: number))
            errors += [.noBluetoothSockets(operation, error), .connecting(operation, error)]
            errors += [.openingChannel(operation, 0x80, error), .openingEnhancedBearer(operation, error)]
            for environment in environments {
                errors += [.listening(operation, error, environment), .controller(operation, error, environment)]
                errors.append(.listeningForEnhancedBearers(operation, error, environment))
            }
        }
        for status in 0...0x14 as ClosedRange<UInt8> {
            for environment in environments {
                errors.append(.management(operation, ManagementStatus(rawValue: status), environment))
            }
        }
        return Set(errors.compactMap(\.?.remedy))
    }()

    @Test func everyRemedyHasALineOfItsOwn() {
        #expect(Self.remedies.count > 8)
        for remedy in Self.remedies {
            // Without BlueZ its tools are not available.
            #expect(!remedy.contains("btmgmt"), "\(remedy)")
            for line in remedy.split(separator: "\n") {
                // Three blanks separate a command from a remark about it, and occur nowhere else.
                let parts = line.split(separator: "   ")
                #expect(
                    parts.count == 1 || parts.count == 2 && parts[1].hasPrefix("(") && parts[1].hasSuffix(")"),
                    "\(line)")
            }
        }
    }

    /// Without -i, `ble power` takes the first adapter, which may be another.
    @Test(arguments: [AdapterState.poweredOff, .lowEnergyOff]) func theRemedyNamesTheAdapter(_ state: AdapterState) {
        let error = BluetoothError.unavailable(state, .init("connect", adapter: "hci1"))
        #expect(error?.remedy?.contains("sudo ble power on -i hci1 ") == true)
    }

    /// "Stop BlueZ's daemon" is no advice where it does not run.
    @Test func theDaemonIsNamedOnlyWhereItRuns() {
        for isRunning in [true, false] {
            let environment = HostEnvironment(isBluetoothDaemonRunning: isRunning)
            let busy = KernelError("connect", .busy)
            let errors: [BluetoothError] = [
                .connecting(Self.operation, busy, environment), .controller(Self.operation, busy, environment),
                .management(Self.operation, .busy, environment),
                .listeningForEnhancedBearers(Self.operation, KernelError("bind", .addressInUse), environment),
            ]
            for error in errors { #expect((error.remedy?.contains("BlueZ") == true) == isRunning, "\(error)") }
        }
    }

    @Test func theProgramsOwnMeansComeFirst() {
        let ours = Self.remedies.filter { $0.contains("sudo ble ") }
        #expect(ours.count >= 2)
        for remedy in ours {
            let lines = remedy.split(separator: "\n").suffix(2)
            #expect(lines.count == 2 && lines.first?.hasPrefix("In code: ") == true, "\(remedy)")
            #expect(lines.first?.contains("ble ") == false, "\(remedy)")
            #expect(lines.last?.hasPrefix("Or run: sudo ble ") == true)
            #expect(lines.last?.contains("swift build -c release --product ble") == true)
        }
    }

    @Test func usersAreNotToldWhatOnlyAnAuthorCanDo() {
        #expect(BluetoothError.forUsers(BluetoothError.powerRemedy("hci1")) == "Run: sudo ble power on -i hci1")
        let daemon =
            "Stop BlueZ's daemon: sudo systemctl stop bluetooth\nOr run: sudo ble power off; sudo ble power on"
        #expect(BluetoothError.forUsers(BluetoothError.daemonRemedy) == daemon)
        #expect(BluetoothError.forUsers("In code: add(_:).") == nil)
        #expect(BluetoothError.forUsers(nil) == nil)
        for remedy in Self.remedies.compactMap({ BluetoothError.forUsers($0) }) {
            // A call, a case, a property or how to build.
            #expect(!remedy.contains(/\w\(|\(\.|: \.|[a-z]\.[a-z]+[ =]|swift build|each build/), "\(remedy)")
        }
    }
}
