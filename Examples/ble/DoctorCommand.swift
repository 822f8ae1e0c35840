import ArgumentParser
import BluetoothLE
import ExampleSupport

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check this machine, and print the fix for whatever is missing.",
        discussion: """
            Checks the kernel, adapters, rfkill switches, permissions and bluetoothd. Needs no privilege, and changes \
            nothing. -i checks only one adapter. Exits with 0 if Bluetooth LE is usable, otherwise with 69.

            With --watch it then watches the adapters, or the one given with -i, and prints their problems: a \
            controller that does not respond, a scan that no longer receives anything, a hardware error, an adapter \
            that appears, disappears or is switched. It scans passively, which needs CAP_NET_RAW. With --recover it \
            also takes the steps that may help, which needs CAP_NET_ADMIN. It ends with Ctrl-C (exit status 130), or with \
            SIGTERM or after the time of --for (0).

            EXAMPLES:
              ble doctor
              ble doctor --json
              ble doctor --watch
              ble doctor --watch --recover --silence 60
            """)

    @OptionGroup var scoped: ScopedOptions<LocalScope>

    @Flag(help: "Print the adapters' problems until Ctrl-C, or for the time of --for.")
    var watch = false

    @Flag(help: "With --watch: take the steps that may help, such as restarting the scan or the adapter.")
    var recover = false

    @Option(
        help: ArgumentHelp(
            "With --watch: the minimum time without any advertisement after which a scan counts as silent (default: 30).",
            valueName: "seconds"))
    var silence: Double?

    @OptionGroup var counted: CountOptions
    @OptionGroup var runTime: RunTimeOptions

    private var watches: Bool { watch || counted.count != nil }

    func validate() throws {
        try checkRange(silence, 1...86_400, "--silence", " seconds")
        let needless = [("--recover", recover), ("--silence", silence != nil), ("--for", runTime.duration != nil)]
        if !watches, let option = needless.first(where: \.1)?.0 {
            throw ValidationError("\(option) needs --watch.")
        }
    }

    func run() async throws {
        let (common, watches, counted, limit) = (scoped.common, watches, counted, runTime.duration)
        var recovery = RecoveryOptions(mode: recover ? .recover : .reportOnly)
        if let silence {
            let least = Duration.seconds(silence)
            recovery.silence = least...max(least, recovery.silence.upperBound)
        }
        let options = recovery
        try await common.run("ble doctor", isServer: watches) { console in
            let kernel = try common.makeKernel()
            var diagnosis = await Diagnosis.run(on: kernel)
            // Otherwise the check that Ctrl-C has ended would look like a fault of the machine.
            try Task.checkCancellation()
            let selector = common.adapter.flatMap { AdapterSelector($0) }
            if let selector { diagnosis.leaveOutAdapters { !selector.matches($0) } }
            var shown: Set<String?> = []
            for var finding in diagnosis.findings {
                finding.remedy = BluetoothError.forUsers(finding.remedy)
                let isNew = shown.insert(finding.remedy).inserted
                if !isNew, !console.isJSON { finding.remedy = nil }
                console.isJSON ? console.json(finding) : console.show(finding)
            }
            // Without sockets there is no adapter either.
            if diagnosis.findings.contains(where: { $0.subject == "kernel" && $0.verdict == .failure }) {
                throw ExitCode(ExitStatus.noBluetooth.rawValue)
            }
            if let selector, diagnosis.adapters.isEmpty {
                let absence = ProgramError.noAdapter(selector)
                guard watches else { throw absence }
                console.message("waiting for the adapter: \(absence.message)")
            }
            if watches {
                let watch = HealthWatch(common, on: kernel, options, console)
                try await counted.upTo(limit) { try await watch.run($0) }
            } else {
                guard diagnosis.isUsable else { throw ExitCode(ExitStatus.noBluetooth.rawValue) }
            }
        }
    }
}

extension Diagnosis {
    /// Leaves out these adapters, with what was found about them.
    fileprivate mutating func leaveOutAdapters(where isNeedless: (AdapterInformation) -> Bool) {
        let names = adapters.filter(isNeedless).map(\.name)
        adapters.removeAll(where: isNeedless)
        findings.removeAll { names.contains($0.subject) }
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
        result(coloured + subject, beside: printable(finding.detail) + (finding.remedy.map { "\n\($0)" } ?? ""))
    }
}
