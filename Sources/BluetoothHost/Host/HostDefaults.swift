import BluetoothATT
import BluetoothHCI
import BluetoothLoop
import BluetoothPrimitives

// Defaults for a host that has its adapters to itself: it receives every event, its links end when it ends them, and no
// other program's state matters.

extension Host {
    package func receiveWaiting() {}
    package var obstacles: HostObstacles { HostObstacles() }
    package var health: any HostHealth { UnwatchedHealth() }
    package var capacity: any HostCapacity { UncountedCapacity() }
    package nonisolated(nonsending) func defaults(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> AdapterDefaults {
        throw BluetoothError(.unsupported, operation, "This host does not report its defaults.")
    }
    package nonisolated(nonsending) func setDefaults(
        _ defaults: AdapterDefaults, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        throw BluetoothError(.unsupported, operation, "This host has no defaults that can be changed.")
    }
}

/// The capacity of a host that counts nothing.
private final class UncountedCapacity: HostCapacity {
    func follow(onLinkEnded: @escaping () -> Void) {}
    func countLinks() -> Int? { nil }
    nonisolated(nonsending) func advertisingSets() async -> (count: Int, inUse: Int)? { nil }
}

/// The health of a host that notices no problems and has no steps.
private final class UnwatchedHealth: HostHealth {
    func follow(_ onProblem: @escaping (RadioProblem, _ isCertain: Bool) -> Void) {}
    func probe(then completion: @escaping (Bool) -> Void) { completion(true) }

    nonisolated(nonsending) func controllerProperties(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> ControllerProperties {
        throw BluetoothError(.unsupported, operation, "This host does not know the controller's properties.")
    }

    func showsHang(_ failure: BluetoothError) -> Bool { false }
    func countLinks(then completion: @escaping (Int?) -> Void) { completion(nil) }
    let isRecoveredElsewhere = false

    func perform(_ step: RecoveryStep, then completion: @escaping (BluetoothError?) -> Void) {
        completion(
            BluetoothError(.unsupported, .init("\(step)"), "This host cannot \(step)."))
    }
}

extension HostDirectory {
    package func refreshState(of index: UInt16) {}
    package func refresh() {}
    package func isSwitchedOff(_ index: UInt16) -> Bool { false }
    package nonisolated(nonsending) func adapters(store: any AdapterStore) async -> [AdapterInformation] { adapters }
}

extension HostPairing {
    package var outOfBandMethods: OutOfBandMethods { [] }
    package var outOfBandLevel: SecurityLevel { .high }

    package nonisolated(nonsending) func makeOutOfBandData(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> OutOfBandData {
        throw BluetoothError(.unsupported, operation, "This host cannot pair with out-of-band data.")
    }

    package nonisolated(nonsending) func setOutOfBandData(
        _ data: OutOfBandData, of peer: BluetoothAddress, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        throw BluetoothError(.unsupported, operation, "This host cannot pair with out-of-band data.")
    }

    package func removeOutOfBandData(of peer: BluetoothAddress) {}

    package func restoreOutOfBandData(_ data: OutOfBandData, of peer: BluetoothAddress) {}

    package func adapterChanged() {}
    package func adapterWasRemoved(_ reason: BluetoothError) {}
}
