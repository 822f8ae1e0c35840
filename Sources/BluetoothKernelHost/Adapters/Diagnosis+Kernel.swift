import BluetoothHost
import BluetoothSockets

extension Diagnosis {
    /// Checks the kernel, the privileges and the adapters; `list` lists the adapters.
    package static func look(
        at kernel: any BluetoothKernel, listing list: @Sendable () async throws(BluetoothError) -> [AdapterInformation]
    ) async -> Diagnosis {
        var diagnosis = Diagnosis()
        let environment = kernel.environment()
        if let error = environment.socketError {
            diagnosis.findings.append(finding("kernel", .noBluetoothSockets(.init("open a socket"), error)))
            return diagnosis
        }
        diagnosis.findings.append(kernelFinding(environment))
        do {
            diagnosis.adapters = try await list()
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

    package static func finding(_ subject: String, _ error: BluetoothError) -> Finding {
        Finding(subject, .failure, error.message, remedy: error.remedy)
    }

    private static func kernelFinding(_ environment: HostEnvironment) -> Finding {
        // Debian's 6.1.192 crashes when a socket is closed whose link ended before a packet arrived.
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
            findings.append(
                Finding(adapter.name, .warning, "off", remedy: BluetoothError.powerRemedy(adapter.name)))
        }
        if !adapter.isLowEnergyEnabled {
            findings.append(
                Finding(
                    adapter.name, .warning, "LE is switched off on this dual-mode adapter",
                    remedy: BluetoothError.lowEnergyRemedy(adapter.name)))
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
            "bluetoothd", .warning,
            "BlueZ's daemon is running; it may scan, connect and pair at the same time, and the connection parameters that it has loaded are lost when a program sets some.",
            remedy: BluetoothError.daemonRemedy)
    }
}
