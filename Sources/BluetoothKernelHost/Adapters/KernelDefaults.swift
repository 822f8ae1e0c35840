import BluetoothHCI
import BluetoothHost
import BluetoothLoop
import BluetoothManagement
import BluetoothPrimitives
import Logging

/// The defaults of an adapter in the kernel (Set Default System Configuration, Set PHY Configuration), which loses them with
/// the adapter.
//
// Lives on the loop, with the adapter.
final class KernelDefaults {
    private let mark: ComponentCount.Mark
    private let management: ManagementClient
    private let phyPolicy: PHYPolicy
    private let log: Logger
    private var declaredPHYs: LEPHYSet?
    private var declared: [SystemParameter] = []

    init(by management: ManagementClient, _ phyPolicy: PHYPolicy, log: Logger) {
        mark = management.loop.components.mark("KernelDefaults")
        (self.management, self.phyPolicy, self.log) = (management, phyPolicy, log)
    }

    /// The present defaults.
    nonisolated(nonsending) func read(
        on index: UInt16, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> AdapterDefaults {
        var defaults: AdapterDefaults
        do {
            defaults = .init(
                try await management.send(ManagementReadDefaultSystemConfiguration(), to: index).parameters)
        } catch {
            throw error.about(operation)
        }
        do {
            defaults.phys = try await phyPolicy.configuration(operation).selected.lePHYs
        } catch {
            // Unlike the others, they need CAP_NET_ADMIN and a controller with several.
            if [.timedOut, .cancelled, .noAdapter].contains(error.code) { throw error }
            log.debug("the adapter's PHYs are unknown: \(error)")
        }
        return defaults
    }

    /// Changes the defaults, which are declared once the kernel has accepted them.
    nonisolated(nonsending) func set(
        _ defaults: AdapterDefaults, on index: UInt16, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        let parameters = try defaults.systemParameters(operation)
        // First, since this fails if the controller lacks one.
        if let phys = defaults.phys {
            try await phyPolicy.select(phys, operation)
            declaredPHYs = phys
        }
        guard !parameters.isEmpty else { return }
        do {
            _ = try await management.send(ManagementSetDefaultSystemConfiguration(.init(parameters)), to: index)
        } catch {
            throw error.about(operation)
        }
        let changed = Set(parameters.map(\.kind))
        declared = declared.filter { !changed.contains($0.kind) } + parameters
    }

    /// Sends the declared defaults again: the adapter may be another one to the kernel.
    func resume(on index: UInt16) {
        if let declaredPHYs { phyPolicy.restore(declaredPHYs) }
        guard !declared.isEmpty else { return }
        management.perform(ManagementSetDefaultSystemConfiguration(.init(declared)), on: index) { [log] error in
            if let error { log.notice("the adapter's defaults are lost: \(error)") }
        }
    }
}

extension AdapterDefaults {
    /// The defaults that the kernel's parameters state. Of the two scans, that for a program's connect counts.
    fileprivate init(_ parameters: [SystemParameter]) {
        func duration(_ kind: SystemParameter.Kind, _ unit: Duration) -> Duration? {
            parameters.last { $0.kind == kind }?.number.map { unit * Int($0) }
        }
        func range(_ shortest: Duration?, _ longest: Duration?) -> ClosedRange<Duration>? {
            guard let shortest, let longest, shortest <= longest else { return nil }
            return shortest...longest
        }
        let (slot, unit) = (Duration.microseconds(625), Duration.microseconds(1250))
        self.init(
            connectScanInterval: duration(.connectScanInterval, slot),
            connectScanWindow: duration(.connectScanWindow, slot),
            connectTimeout: duration(.connectTimeout, .milliseconds(1)),
            advertisingInterval: range(
                duration(.advertisingIntervalMinimum, slot), duration(.advertisingIntervalMaximum, slot)))
        if let connection = LEConnectionParameters(parameters),
            let interval = range(unit * Int(connection.intervalMinimum), unit * Int(connection.intervalMaximum))
        {
            connectionParameters = ConnectionParameterRequest(
                interval: interval, latency: Int(connection.latency),
                supervisionTimeout: .milliseconds(10 * Int(connection.supervisionTimeout)))
        }
    }

    /// The kernel's parameters.
    fileprivate func systemParameters(
        _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> [SystemParameter] {
        var all: [SystemParameter] = []
        if let connection = try connectionParameters?.parameters(operation) {
            all += [
                SystemParameter(.connectionIntervalMinimum, connection.intervalMinimum),
                SystemParameter(.connectionIntervalMaximum, connection.intervalMaximum),
                SystemParameter(.latency, connection.latency),
                SystemParameter(.supervisionTimeout, connection.supervisionTimeout),
            ]
        }
        if let interval = connectScanInterval?.slots, let window = connectScanWindow?.slots {
            // The first pair is for devices that the kernel itself connects to whenever they advertise, the second for those
            // that a program connects to.
            all += [
                SystemParameter(.autoConnectScanInterval, UInt16(clamping: interval)),
                SystemParameter(.autoConnectScanWindow, UInt16(clamping: window)),
                SystemParameter(.connectScanInterval, UInt16(clamping: interval)),
                SystemParameter(.connectScanWindow, UInt16(clamping: window)),
            ]
        }
        if let limit = connectTimeout?.milliseconds {
            all.append(SystemParameter(.connectTimeout, UInt16(clamping: limit)))
        }
        if let interval = advertisingInterval {
            all += [
                SystemParameter(.advertisingIntervalMinimum, UInt16(clamping: interval.lowerBound.slots)),
                SystemParameter(.advertisingIntervalMaximum, UInt16(clamping: interval.upperBound.slots)),
            ]
        }
        return all
    }
}
