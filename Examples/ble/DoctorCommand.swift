import ArgumentParser
import BluetoothLE
import ExampleSupport

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check this machine, and print the fix for whatever is missing.",
        discussion: """
            Checks the kernel, adapters, rfkill switches, permissions and bluetoothd. Needs no privilege, and changes \
            nothing. Exits with 0 if Bluetooth LE is usable, otherwise with 69.

            EXAMPLES:
              ble doctor
              ble doctor --json
            """)

    @OptionGroup var scoped: ScopedOptions<LocalScope>

    func run() async throws {
        let common = scoped.common
        try await common.run("ble doctor") { console in
            let diagnosis = await Diagnosis.run(on: try common.makeKernel())
            for finding in diagnosis.findings {
                console.isJSON ? console.json(finding) : console.show(finding)
            }
            guard diagnosis.isUsable else { throw ExitCode(ExitStatus.noBluetooth.rawValue) }
        }
    }
}

extension Console {
    fileprivate func json(_ finding: Diagnosis.Finding) {
        result([
            ("event", .string("finding")), ("subject", .string(finding.subject)),
            ("verdict", .string(finding.verdict.rawValue)), ("detail", .string(finding.detail)),
            ("remedy", JSONValue(finding.remedy)),
        ])
    }

    fileprivate func show(_ finding: Diagnosis.Finding) {
        let verdict = finding.verdict.rawValue
        let padded = verdict + String(repeating: " ", count: max(0, 5 - verdict.count))
        let coloured =
            switch finding.verdict {
            case .good: output.green(padded)
            case .warning: output.yellow(padded)
            case .failure: output.red(padded)
            }
        let subject = finding.subject + String(repeating: " ", count: max(1, 13 - finding.subject.count))
        result(coloured + subject + printable(finding.detail))
        for line in (finding.remedy ?? "").split(separator: "\n") { result(String(repeating: " ", count: 18) + line) }
    }
}
