import BluetoothGATT
import BluetoothHCI
import BluetoothManagement
import BluetoothPrimitives
import BluetoothSimulation

import BluetoothLE

extension Site {
    /// A fault that begins and ends; a random number chooses where.
    struct Fault: Sendable {
        typealias Body = @Sendable (_ number: Int, _ isOn: Bool) async throws -> Void
        let (name, set): (String, Body)

        init(_ name: String, _ set: @escaping Body) { (self.name, self.set) = (name, set) }
    }

    /// Every fault in `Docs/Guide/Simulation.md`, in its order.
    var faults: [Fault] {
        radioFaults + deviceFaults + attributeFaults + pairingFaults + adapterFaults + machineFaults
    }

    private var radioFaults: [Fault] {
        let radio = radio
        let addresses = devices.map(\.address) + (1...2).compactMap { Self.controller(0, of: $0).address }
        let own = adapters.map(\.information.address)
        return [
            Fault("packetLoss") { radio.conditions.packetLoss = $1 ? 0.01 * Double($0 % 40) : 0 },
            Fault("advertisementLoss") { radio.conditions.advertisementLoss = $1 ? 0.9 : 0 },
            Fault("scanResponseLoss") { radio.conditions.scanResponseLoss = $1 ? 0.5 : 0 },
            Fault("latency") { radio.conditions.latency = .milliseconds($1 ? $0 % 200 : 0) },
            Fault("jitter") { radio.conditions.jitter = .milliseconds($1 ? $0 % 300 : 0) },
            Fault("signalVariation") { radio.conditions.signalVariation = $1 ? 30 : 3 },
            Fault("short events") { radio.conditions.packetsPerConnectionEvent = $1 ? 1 + $0 % 4 : nil },
            Fault("out of range") { radio.setInRange(!$1, own[$0 % 3], addresses[$0 / 3 % 7]) },
            Fault("link broken") { if $1 { radio.breakLink(own[$0 % 3], addresses[$0 / 3 % 7]) } },
        ]
    }

    private var deviceFaults: [Fault] {
        let (radio, other) = (radio, devices[2])
        let devices = devices.dropLast()
        let slow = LEConnectionParameters(
            intervalMinimum: 400, intervalMaximum: 400, latency: 1, supervisionTimeout: 600)
        let long = SimulatedAdvertisement(
            data: [UInt8](repeating: 0, count: 200), isLegacy: false, interval: .seconds(9), receivedByteLimit: 100)
        let malformed =
            [long]
            + SimulatedAdvertisement.malformed.map { SimulatedAdvertisement(data: $0.data, interval: .seconds(9)) }
        return [
            Fault("device not advertising") { devices[$0 % 4].setAdvertising(!$1) },
            Fault("device hidden") { devices[$0 % 4].setHidden($1) },
            Fault("device far away") { devices[$0 % 4].setSignalStrength($1 ? -90 : -50) },
            Fault("device removed") { if $1 { SimulatedPeripheral(on: radio).remove() } },
            Fault("malformed advertisements") { other.setAdvertisements($1 ? malformed : Self.advertisements) },
            Fault("device refuses links") { devices[$0 % 4].setRefusal($1 ? .connectionFailedToBeEstablished : nil) },
            Fault("device has no room") { devices[$0 % 4].setConnectionLimit($1 ? 0 : 1) },
            Fault("device breaks links") { if $1 { devices[$0 % 4].breakLinks() } },
            Fault("device disconnects") { if $1 { devices[$0 % 4].disconnect(reason: .remoteDevicePoweringOff) } },
            Fault("device mute") { devices[$0 % 4].setMute($1) },
            Fault("device not sending") { devices[$0 % 4].setSending(!$1) },
            Fault("device not receiving") { devices[$0 % 4].setReceiving(!$1) },
            Fault("slow device") { if $1 { devices[$0 % 4].requestConnectionParameters(slow) } },
            Fault("stubborn device") { devices[$0 % 4].setParameterRefusal($1 ? .unsupportedRemoteFeature : nil) },
            Fault("device has one PHY") { devices[$0 % 4].setSupportedPHYs($1 ? .le1M : [.le1M, .le2M]) },
            Fault("no channels") { other.setService(Self.psm, receiveMTU: $1 ? nil : 512) },
            Fault("short channels") { other.setService(Self.psm, receiveMTU: $1 ? 23 : 512) },
            Fault("protected channels") { other.setService(Self.psm, receiveMTU: 512, security: $1 ? .medium : .low) },
            Fault("no credits") { other.setGrantingCredits(!$1) },
            Fault("channels closed") { if $1 { other.closeChannels(Self.psm) } },
        ]
    }

    private var attributeFaults: [Fault] {
        let server = servers[2]
        func answer(_ name: String, _ set: @escaping @Sendable () -> Void) -> Fault {
            Fault(name) {
                server.onRead { _, _ in .value([1, 2, 3]) }
                server.onWrite { _, _ in .accept }
                server.onSubscription { _, _, _ in }
                if $1 { set() }
            }
        }
        let added = [GATTService(0xFFE0, characteristics: [GATTCharacteristic(0xFFE1, properties: .read)])]
        return [
            answer("reads refused") { server.onRead { _, _ in .refuse(.insufficientResources) } },
            answer("reads unanswered") { server.onRead { _, _ in .silence } },
            answer("reads late") { server.onRead { _, _ in .value([1], after: .seconds(20)) } },
            answer("reads too long") { server.onRead { _, _ in .value([UInt8](repeating: 1, count: 600)) } },
            answer("writes refused") { server.onWrite { _, _ in .refuse(.writeRequestRejected) } },
            answer("writes unanswered") { server.onWrite { _, _ in .silence } },
            answer("links end at writes") {
                server.onWrite { _, link in
                    link.disconnect(reason: .remoteDevicePoweringOff)
                    return .accept
                }
            },
            answer("links end at subscriptions") { server.onSubscription { _, _, link in link.disconnect() } },
            answer("values flood") {
                server.onSubscription { handle, _, _ in for _ in 0..<100 { server.notifyAtOnce([1], of: handle) } }
            },
            Fault("attributes change") { number, isOn in
                let value = server.handle(of: 0xFFE1, in: 0xFFE0)
                let former = value.map { AttributeHandleRange(start: .init(rawValue: $0.rawValue - 2), end: $0) }
                if isOn || former != nil {
                    _ = try server.change(removing: former, adding: isOn ? added : [], isReported: number % 2 == 0)
                }
            },
        ]
    }

    private var pairingFaults: [Fault] {
        let bonded = devices[1]
        func pairing(_ name: String, _ change: @escaping @Sendable (inout SimulatedSecurity) -> Void) -> Fault {
            Fault(name) {
                var security = SimulatedSecurity()
                if $1 { change(&security) }
                bonded.setSecurity(security)
                if $1 { bonded.forgetBonds() }
            }
        }
        return [
            pairing("pairing refused") { $0.response = .refuse },
            pairing("pairing unanswered") { $0.response = .silence },
            pairing("user refuses") { ($0.user, $0.ioCapability) = (.refuses, .displayYesNo) },
            pairing("user mistypes") { ($0.user, $0.ioCapability) = (.mistypes, .keyboardOnly) },
            pairing("user absent") { ($0.user, $0.ioCapability) = (.isAbsent, .displayYesNo) },
            pairing("protection required") { $0.requiresProtection = true },
            pairing("legacy pairing") { $0.hasSecureConnections = false },
            pairing("short keys") { $0.maximumKeySize = 7 }, pairing("keys not stored") { $0.storesKeys = false },
            pairing("keys forgotten") { _ in },
            Fault("security requested") { if $1 { bonded.requestSecurity() } },
        ]
    }

    private var adapterFaults: [Fault] {
        let kernel = kernels[0]
        let cures: [ControllerFault.Cure] = [.scanRestart, .powerOff, .reset, .takingDown, .unbinding, .losingPower]
        func adapter(_ name: String, _ set: @escaping @Sendable (UInt16, Bool) -> Void) -> Fault {
            Fault(name) { if let index = index(of: $0 % 3) { set(index, $1) } }
        }
        func controller(_ name: String, _ symptom: ControllerFault.Symptom) -> Fault {
            return Fault(name) { number, isOn in
                guard isOn, let index = index(of: number % 3) else { return try await replug(number % 3) }
                kernel.setFault(ControllerFault(symptom, until: cures[number / 3 % cures.count]), adapter: index)
                if case .answersAs = symptom { kernel.reportHardwareError(1, adapter: index) }
            }
        }
        return [
            Fault("adapter unplugged") { number, isOn in
                guard isOn, let index = index(of: number % 3) else { return try await replug(number % 3) }
                kernel.unplug(index)
            },
            adapter("adapter off") { kernel.setPowered(!$1, adapter: $0) },
            adapter("adapter blocked") { kernel.setRadioSwitch(adapter: $0, isSoftBlocked: $1) },
            adapter("adapter blocked by hardware") { kernel.setRadioSwitch(adapter: $0, isHardBlocked: $1) },
            adapter("adapter hidden") { kernel.setHidden($1, adapter: $0) },
            adapter("adapter not sending") { kernel.setSending(!$1, adapter: $0) },
            adapter("controller forgets") { if $1 { kernel.forgetState(adapter: $0) } },
            adapter("hardware error") { if $1 { kernel.reportHardwareError(7, adapter: $0) } },
            adapter("short keys of the kernel") { kernel.setMaximumKeySize($1 ? 7 : 16, adapter: $0) },
            controller("controller hangs", .hangs), controller("controller hears nothing", .hearsNothing),
            controller("controller connects too late", .connectsTooLate),
            controller("controller has another address", .answersAs(BluetoothAddress(0xAABB_CCDD_EEFF, kind: .public))),
        ]
    }

    private var machineFaults: [Fault] {
        let (kernels, opcodes) = (kernels, ManagementOpcode.types.map { $0.opcode })
        return [
            Fault("no CAP_NET_RAW") { kernels[$0 % 3].hasNetRaw = !$1 },
            Fault("no CAP_NET_ADMIN") { kernels[$0 % 3].hasNetAdmin = !$1 },
            Fault("CAP_NET_BIND_SERVICE") { kernels[$0 % 3].hasNetBindService = $1 },
            Fault("secure execution") { kernels[$0 % 3].isSecureExecution = $1 },
            Fault("no path") { kernels[$0 % 3].executablePath = $1 ? nil : "/usr/bin/site" },
            Fault("no sockets") { kernels[$0 % 3].socketError = $1 ? KernelError("socket", .notPermitted) : nil },
            Fault("daemon") { kernels[$0 % 3].isBluetoothDaemonRunning = $1 },
            Fault("no enhanced flow control") { kernels[$0 % 3].hasEnhancedFlowControl = !$1 },
            Fault("another kernel") { kernels[$0 % 3].kernelRelease = $1 ? "5.10.0" : "6.12.0" },
            Fault("no rfkill") { kernels[$0 % 3].canWatchRadioSwitches = !$1 },
            Fault("discovery taken") { kernels[$0 % 3].setDiscoveryTaken($1) },
            Fault("command refused") {
                kernels[$0 % 3].setRefusal($1 ? .busy : nil, of: opcodes[$0 / 3 % opcodes.count])
            },
            Fault("command unanswered") { kernels[$0 % 3].setSilent($1, for: opcodes[$0 / 3 % opcodes.count]) },
        ]
    }

    /// The present index of one of the machine's adapters; nil while it is unplugged.
    private func index(of number: Int) -> UInt16? {
        (0..<16).first { kernels[0].port(ofAdapter: $0) == "place \(number)" }
    }

    /// Unplugs an adapter and plugs it in again.
    private func replug(_ number: Int) async throws {
        // Its driver may just be bound again.
        if index(of: number) == nil { try await radio.sleep(for: .seconds(1)) }
        if let index = index(of: number) { kernels[0].unplug(index) }
        try await radio.sleep(for: .seconds(5))
        if index(of: number) == nil { kernels[0].plug(Self.controller(number)) }
    }
}
