import BluetoothKernel
import BluetoothPrimitives
import KernelHost

/// What stands between this program and Bluetooth, point by point, each with its fix.
public struct Diagnosis: Hashable, Sendable {
    /// How a point stands.
    public enum Verdict: String, Sendable {
        /// As it should be.
        case good = "OK"
        /// Works, but not everything does, or not always.
        case warning = "WARN"
        /// Keeps Bluetooth from working.
        case failure = "FAIL"
    }

    /// One point that was looked at.
    public struct Finding: Hashable, Sendable {
        /// What was looked at.
        public var subject: String
        /// How it stands.
        public var verdict: Verdict
        /// What was found.
        public var detail: String
        /// The exact fix, where one is needed.
        public var remedy: String?

        /// A finding from its parts.
        public init(_ subject: String, _ verdict: Verdict, _ detail: String, remedy: String? = nil) {
            self.subject = subject
            self.verdict = verdict
            self.detail = detail
            self.remedy = remedy
        }
    }

    /// The points in the order in which they are worth fixing.
    public var findings: [Finding]
    /// The adapters found.
    public var adapters: [AdapterInformation]

    /// Whether a program can scan and connect here, given that it powers the adapter on.
    public var isUsable: Bool { !findings.contains { $0.verdict == .failure } }

    /// Looks at everything. Needs no privilege and changes nothing.
    /// - Parameter kernel: whose Bluetooth; nil for the machine's own kernel.
    public static func run(on kernel: (any BluetoothKernel)? = nil) async -> Diagnosis {
        var diagnosis = Diagnosis(findings: [], adapters: [])
        let chosen: any BluetoothKernel
        do {
            chosen = try chosenKernel(kernel, .init("look"))
        } catch {
            diagnosis.findings.append(finding("process", error))
            return diagnosis
        }
        let kernel = chosen
        let environment = kernel.environment()
        if let error = environment.socketError {
            diagnosis.findings.append(finding("kernel", .noBluetoothSockets(.init("open a socket"), error)))
            return diagnosis
        }
        diagnosis.findings.append(kernelFinding(environment))
        do {
            diagnosis.adapters = try await Adapter.all(on: kernel)
            if diagnosis.adapters.isEmpty {
                diagnosis.findings.append(finding("adapters", .noAdapter(.init("list adapters"))))
            }
        } catch {
            diagnosis.findings.append(finding("adapters", error))
        }
        for adapter in diagnosis.adapters {
            diagnosis.findings.append(contentsOf: adapterFindings(adapter))
        }
        diagnosis.findings.append(permissionFinding(environment))
        diagnosis.findings.append(daemonFinding(environment))
        return diagnosis
    }

    private static func finding(_ subject: String, _ error: BluetoothError) -> Finding {
        Finding(subject, .failure, error.message, remedy: error.remedy)
    }

    private static func kernelFinding(_ environment: HostEnvironment) -> Finding {
        // Debian's 6.1.192 crashes when a socket is closed whose link ended before a packet came in.
        if environment.kernelRelease.hasPrefix("6.1.192") {
            return Finding(
                "kernel", .warning,
                "Linux \(environment.kernelRelease) can crash when a Bluetooth link is lost.",
                remedy: "Install another kernel, such as 6.1.190 or 6.12.")
        }
        return Finding("kernel", .good, "Linux \(environment.kernelRelease) has Bluetooth sockets")
    }

    private static func adapterFindings(_ adapter: AdapterInformation) -> [Finding] {
        var findings: [Finding] = []
        let facts = "\(adapter.address), Bluetooth \(adapter.versionName), \(adapter.manufacturer)"
        if !adapter.isLowEnergySupported {
            findings.append(
                Finding(
                    adapter.name, .warning, "\(facts): no LE", remedy: "Use an adapter with Bluetooth 4.0 or later."))
            return findings
        }
        findings.append(Finding(adapter.name, .good, facts))
        if case .blocked(let isHard) = adapter.state {
            findings.append(
                Finding(
                    adapter.name, .failure, "\(adapter.state)",
                    remedy: isHard ? BluetoothError.hardBlockRemedy : BluetoothError.softBlockRemedy))
        }
        if !adapter.isPowered {
            findings.append(Finding(adapter.name, .warning, "off", remedy: BluetoothError.powerRemedy))
        }
        if !adapter.isLowEnergyEnabled {
            findings.append(
                Finding(
                    adapter.name, .warning, "LE is switched off on this dual-mode adapter",
                    remedy: BluetoothError.lowEnergyRemedy))
        }
        return findings
    }

    private static func permissionFinding(_ environment: HostEnvironment) -> Finding {
        if environment.hasNetRaw, environment.hasNetAdmin {
            return Finding("permissions", .good, "CAP_NET_RAW and CAP_NET_ADMIN")
        }
        let error = BluetoothError.notPermitted(.init("look"), executable: environment.executablePath)
        return Finding(
            "permissions", .warning,
            "Without CAP_NET_RAW and CAP_NET_ADMIN a program can connect, but not scan or power on.",
            remedy: error.remedy)
    }

    private static func daemonFinding(_ environment: HostEnvironment) -> Finding {
        guard environment.isBluetoothDaemonRunning else { return Finding("bluetoothd", .good, "not running") }
        return Finding(
            "bluetoothd", .warning, "BlueZ's daemon is running; it may scan, connect and pair at the same time.",
            remedy: BluetoothError.daemonRemedy)
    }
}
