import BluetoothHost
import BluetoothManagement
import BluetoothSockets
import Logging

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
        do throws(BluetoothError) {
            diagnosis.adapters = try await list()
            if diagnosis.adapters.isEmpty { throw .noAdapter(.init("list adapters")) }
        } catch {
            diagnosis.findings.append(finding("adapters", error))
        }
        for adapter in diagnosis.adapters {
            diagnosis.findings.append(contentsOf: adapterFindings(adapter))
            // The daemon's advertising, scans and settings would look like those of a killed program.
            if environment.isBluetoothDaemonRunning { continue }
            diagnosis.findings.append(contentsOf: await leftovers(at: adapter, on: kernel))
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
        let facts = "\(adapter.address.digits), Bluetooth \(adapter.versionName), \(adapter.manufacturer)"
        guard adapter.isLowEnergySupported else {
            let remedy = "Use an adapter with Bluetooth 4.0 or later."
            return [Finding(adapter.name, .warning, "\(facts): no LE", remedy: remedy)]
        }
        var findings = [Finding(adapter.name, .good, facts)]
        if case .blocked(let isHard) = adapter.state.kind {
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
                    adapter.name, .warning, "LE is disabled on this dual-mode adapter",
                    remedy: BluetoothError.lowEnergyRemedy(adapter.name)))
        }
        return findings
    }

    /// What killed programs may have left at an adapter, as far as the kernel reports it to this process; no command
    /// reads the keys.
    private static func leftovers(at adapter: AdapterInformation, on kernel: any BluetoothKernel) async -> [Finding] {
        await withTaskExecutorPreference(kernel.loop) {
            let (name, marks) = (adapter.name, AdapterMarks(of: adapter, on: kernel))
            let management = ManagementClient(on: kernel, log: Logger(label: "bluetooth.diagnosis"))
            defer { management.close(.init(.cancelled, .init("look"), "The diagnosis is over.")) }
            var findings: [Finding] = []
            func warn(_ leftover: String, _ call: String, orRun command: String) {
                let origin =
                    "belongs to no running program of this library: a killed program or other software has left it"
                let remedy = BluetoothError.remedy(inCode: call, orRun: "\(command) -i \(name)")
                findings.append(Finding(name, .warning, "\(leftover), which \(origin)", remedy: remedy))
            }
            if let features = try? await management.send(ManagementReadAdvertisingFeatures(), to: adapter.index) {
                for instance in features.instances where marks.isLeft(instance) {
                    warn(
                        "advertising instance \(instance)", "removeForeignAdvertising() ends it.",
                        orRun: "advertise --clear")
                }
            }
            do throws(BluetoothError) {
                // The kernel compares the types only if there is a discovery, and none has these.
                try await management.send(
                    ManagementStopDiscovery(ManagementAddressTypes(rawValue: 0xFF)), to: adapter.index)
            } catch {
                if error.cause == .management(.invalidParameters), marks.count(.scanning) == 0 {
                    warn("an active scan", "the next scan() ends it.", orRun: "scan --for 1")
                }
            }
            let pairing = adapter.activeFeatures.intersection([.bondable, .secureConnections])
            if !pairing.isEmpty {
                let origin = "set by a program that pairs or has paired; it stays until the adapter is plugged in again"
                findings.append(Finding(name, .good, "\(pairing), \(origin)"))
            }
            return findings
        }
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
            "BlueZ's daemon is running: it has replaced the keys of this library's bonds with its own, and it owns pairing, so programs here cannot pair. It may scan and connect at the same time, and the connection parameters that it has loaded are lost when a program sets its own. Stopping it may power the adapters off.",
            remedy: BluetoothError.daemonRemedy)
    }
}
