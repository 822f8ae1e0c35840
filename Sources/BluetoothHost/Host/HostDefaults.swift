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

extension HostLinks {
    package func beginFollowing() {}
    package func endFollowing() {}
    package nonisolated(nonsending) func beginInitialParameters(
        _ parameters: LEConnectionParameters, for peer: BluetoothAddress, timeout: Duration?
    ) async throws(BluetoothError) -> UInt64? { nil }
    package func endInitialParameters(_ number: UInt64) {}
    package nonisolated(nonsending) func beginConnecting(
        on phys: LEPHYSet, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> UInt64? { nil }
    package func endConnecting(_ number: UInt64) {}
}

extension HostScanning {
    package nonisolated(nonsending) func prepareToConnect(timeout: Duration?) async {}
}

extension HostPairing {
    package nonisolated(nonsending) func makeOutOfBandData(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> OutOfBandData {
        throw BluetoothError(.unsupported, operation, "This host cannot pair with out-of-band data.")
    }

    package func setOutOfBandData(
        _ data: OutOfBandData?, of peer: BluetoothAddress
    ) -> Promise<SecurityLevel, BluetoothError> {
        let call = Promise<SecurityLevel, BluetoothError>()
        call.fail(
            BluetoothError(
                .unsupported, .init("set out-of-band data", peer: peer),
                "This host cannot pair with out-of-band data."))
        return call
    }

    package func adapterChanged(removed reason: BluetoothError?) {}
}

extension HostChannels {
    package func isWayClear(to peer: BluetoothAddress) -> Bool { true }
    package nonisolated(nonsending) func makeWay(
        to peer: BluetoothAddress, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) {}
    package func reason(
        of failure: ChannelFailure, otherwise other: BluetoothError, isLocal: Bool,
        then completion: @escaping (BluetoothError) -> Void
    ) -> BluetoothError? { other }
}

extension HostChannel {
    package func confirmLink() {}
    package func beginRecord(isCentral: Bool) {}
    package func endRecord(_ reason: BluetoothError) {}
    package func close(owing outstanding: OutstandingTransactions) { close() }
}
