import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import TestSupport
import Testing

/// A machine on a radio in virtual time, for programs written to Core Bluetooth.
///
/// Time is paused while callbacks are queued for the program, so programs take no virtual time.
struct Fixture: Sendable {
    let radio: SimulatedRadio
    let kernel: SimulatedKernel
    /// The log of released peripherals in use.
    let misuse = Journal<String>()
    /// The queue of the programs' callbacks.
    let queue: DispatchQueue

    static func run(
        _ controller: SimulatedController = .fresh, seed: UInt64 = 1, writeCredits: Int = 64, sendBuffer: Int? = nil,
        agent: (any PairingAgent)? = nil, bonds: BondStorage = .standard, showsGenericServices: Bool = false,
        _ story: @escaping @Sendable (Fixture) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio(time: .virtual, seed: seed)
        let kernel = radio.makeKernel(adapters: [controller])
        let fixture = Fixture(radio: radio, kernel: kernel)
        try await CBLinux.withKernel(
            kernel, writeCredits: writeCredits, sendBuffer: sendBuffer,
            agent: agent, bonds: bonds, reportMisuse: { fixture.misuse.add($0) },
            showsGenericServices: showsGenericServices
        ) {
            // Long enough for a busy machine: the programs' threads are not the radio's.
            try await radio.run(limit: .seconds(3600), stallGrace: .seconds(30)) { try await story(fixture) }
        }
        radio.close()
    }

    init(radio: SimulatedRadio, kernel: SimulatedKernel) {
        self.radio = radio
        self.kernel = kernel
        queue = DispatchQueue(label: "program")
        queue.setSpecific(key: Self.onQueue, value: ObjectIdentifier(radio))
    }

    private static let onQueue = DispatchSpecificKey<ObjectIdentifier>()

    /// Whether the caller runs on the programs' queue.
    var isOnQueue: Bool { DispatchQueue.getSpecific(key: Self.onQueue) == ObjectIdentifier(radio) }

    /// Calls `body` on the programs' queue, as programs do; time is paused until it has returned.
    func onQueue<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        radio.pauseTime()
        defer { radio.resumeTime() }
        return await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }

    /// Lets time pass, at most a minute, until `condition` holds.
    func settle(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: @Sendable () -> Bool
    ) async {
        for _ in 0..<600 {
            if condition() { return }
            try? await radio.sleep(for: .milliseconds(100))
        }
        Issue.record("what was waited for did not happen", sourceLocation: sourceLocation)
    }

    /// Runs a program on a machine of its own on the same radio.
    func elsewhere<Result: Sendable>(
        agent: (any PairingAgent)? = nil, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let other = radio.makeKernel(adapters: [.fresh])
        return try await CBLinux.withKernel(other, agent: agent, body)
    }

    /// Waits until `journal` has an entry, for at most two minutes.
    func wait(
        for entry: String, in journal: Journal<String>, count: Int = 1,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let found = await journal.wait(on: radio.loop, limit: .seconds(120)) { entries in
            entries.count { $0 == entry } >= count
        }
        if found == nil {
            Issue.record("“\(entry)” did not come; there is \(journal.entries)", sourceLocation: sourceLocation)
        }
        // The callback that recorded it has returned.
        await onQueue {}
    }
}

/// A program that records every callback, and runs further actions on them.
final class Recorder: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    let journal = Journal<String>()
    let fixture: Fixture
    /// Retained, as programs must.
    var peripherals: [CBPeripheral] = []
    var advertisements: [(CBPeripheral, [String: Any], NSNumber)] = []
    /// The actions to run after a recorded callback.
    var then: [String: (Recorder, Any?) -> Void] = [:]
    var manager: CBCentralManager?

    init(_ fixture: Fixture) {
        self.fixture = fixture
    }

    /// A program with its manager, powered on.
    static func start(_ fixture: Fixture) async -> Recorder {
        let recorder = Recorder(fixture)
        // Here and not on the queue, where the fixture's kernel is not in effect.
        recorder.manager = CBCentralManager(
            delegate: recorder, queue: fixture.queue, options: [CBCentralManagerOptionRestoreIdentifierKey: "program"])
        await fixture.wait(for: "state 5", in: recorder.journal)
        return recorder
    }

    /// Calls `body` with the program's one peripheral, on the queue.
    func perform(with body: @escaping @Sendable (CBPeripheral) -> Void) async {
        await perform { _, program in
            guard let peripheral = program.peripherals.first else { return }
            body(peripheral)
        }
    }

    /// Calls `body` with the manager, on the queue.
    func perform(_ body: @escaping @Sendable (CBCentralManager, Recorder) -> Void) async {
        await fixture.onQueue {
            guard let manager = self.manager else { return }
            body(manager, self)
        }
    }

    func wait(for entry: String, count: Int = 1, sourceLocation: SourceLocation = #_sourceLocation) async {
        await fixture.wait(for: entry, in: journal, count: count, sourceLocation: sourceLocation)
    }

    /// The callbacks recorded since the last call.
    func take() -> [String] {
        defer { seen = journal.entries.count }
        return Array(journal.entries.dropFirst(seen))
    }

    private var seen = 0

    private func note(_ entry: String, _ subject: Any? = nil) {
        if !fixture.isOnQueue { Issue.record("“\(entry)” was called back off the queue") }
        journal.add(entry)
        then[entry]?(self, subject)
    }

    private func text(_ error: (any Error)?) -> String {
        guard let error else { return "" }
        if let error = error as? CBError { return " CBError \(error.errorCode)" }
        if let error = error as? CBATTError { return " CBATTError \(error.errorCode)" }
        return " another error"
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) { note("state \(central.state.rawValue)", central) }
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        advertisements.append((peripheral, advertisementData, RSSI))
        if !peripherals.contains(where: { $0 === peripheral }) { peripherals.append(peripheral) }
        note("discovered \(peripheral.name ?? "?")", peripheral)
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.delegate = self
        note("connected", peripheral)
    }
    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        note("failed" + text(error), peripheral)
    }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        note(
            "disconnected" + text(error) + (peripheral.state == .disconnected ? "" : " \(peripheral.state)"), peripheral
        )
    }
    func centralManager(
        _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
    ) {
        note("event \(event.rawValue)", peripheral)
    }
    func peripheralDidUpdateName(_ peripheral: CBPeripheral) { note("name \(peripheral.name ?? "?")", peripheral) }
    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        note("modified \(invalidatedServices.map(\.uuid.uuidString).joined(separator: " "))", invalidatedServices)
    }
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        note("rssi \(RSSI)" + text(error))
    }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        note("services" + text(error), peripheral)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
    ) {
        note("included \(service.uuid)" + text(error), service)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        note("characteristics \(service.uuid)" + text(error), service)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        let value = characteristic.value.map { $0.map { String($0) }.joined(separator: " ") } ?? "nil"
        note("value \(characteristic.uuid)" + (error == nil ? " = \(value)" : text(error)), characteristic)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        note("wrote \(characteristic.uuid)" + text(error), characteristic)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        note("notifying \(characteristic.uuid) \(characteristic.isNotifying)" + text(error), characteristic)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        note("descriptors \(characteristic.uuid)" + text(error), characteristic)
    }
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
        note("descriptor \(descriptor.uuid)" + text(error), descriptor)
    }
    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?) {
        note("wrote descriptor \(descriptor.uuid)" + text(error), descriptor)
    }
    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
        if !peripheral.canSendWriteWithoutResponse { Issue.record("ready, but cannot send") }
        note("ready", peripheral)
    }
    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        note("channel \(channel?.psm ?? 0)" + text(error), channel)
    }

    // Never called, also not after a connection that requires ANCS, or a read of the RSSI.
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) { Issue.record("restored") }
    func centralManager(_ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral) {
        Issue.record("ANCS was authorized")
    }
    func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?) { Issue.record("older RSSI") }
}
