import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging
import BluetoothManagement

/// The preparation of adapters for LE: identity, keys of bonded devices, power.
struct AdapterPreparation {
    let kernel: any BluetoothKernel
    let management: ManagementClient
    let pairing: KernelPairing
    let store: (any AdapterStore)?
    /// The privacy mode of the adapters; nil leaves it as it is.
    var privacy: PrivacyMode?

    /// Brings an adapter into the state in which LE works, as far as `power` allows, and returns its information.
    ///
    /// On a dual-mode controller LE stays off until `Set LE`, and a controller without a public address cannot be
    /// reached or scan actively without a static one.
    nonisolated(nonsending) func prepare(
        _ information: AdapterInformation, power: PowerPolicy
    ) async throws(BluetoothError) -> AdapterInformation {
        var information = information
        let operation = BluetoothError.Operation("open", adapter: information.name)
        guard information.isLowEnergySupported else {
            throw BluetoothError(.unsupported, operation, "\(information.name) has no Bluetooth LE.")
        }
        if !information.isPowered {
            try checkRadioSwitch(information, operation)
            if power == .leave, let error = BluetoothError.unavailable(.poweredOff, operation) { throw error }
        }
        if !information.isLowEnergyEnabled {
            try await management.send(ManagementSetLowEnergy(true), to: information.index)
        }
        let wasPowered = information.isPowered
        // Another session of this process must not take it for another program's power-off.
        let cycled: PowerChanges.Adapter? =
            needsOff(information) && power != .leave
            ? .init(information.index, information.publicAddress, on: kernel.loop) : nil
        if let cycled { PowerChanges.beginStep(on: cycled) }
        defer { if let cycled { PowerChanges.endStep(on: cycled) } }
        do throws(BluetoothError) {
            try await prepareIdentity(&information, power, operation)
            if let store {
                await store.prepare(information)
                pairing.begin(information.index, store)
            }
            if !information.isPowered { try await powerOn(information, operation) }
        } catch {
            if wasPowered, power != .leave { await powerOnAgain(information.index) }
            throw error
        }
        let now: ControllerInformation
        do {
            now = try await management.send(ManagementReadControllerInformation(), to: information.index)
        } catch {
            throw error.code == .noAdapter ? .noAdapter(operation) : error
        }
        guard now.address == information.publicAddress else {
            throw .addressChanged(operation, from: information.publicAddress, to: now.address)
        }
        information.activeFeatures = AdapterFeatures(now.currentSettings)
        return information
    }

    /// Whether changing the privacy mode requires a power cycle.
    private func needsOff(_ information: AdapterInformation) -> Bool {
        guard let privacy, information.isPowered else { return false }
        return (privacy != .off) != information.usesPrivateAddresses
    }

    private nonisolated(nonsending) func powerOn(
        _ information: AdapterInformation, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        do throws(BluetoothError) {
            try await management.sendWhenIdle(ManagementSetPowered(true), to: information.index)
        } catch {
            // The kernel reports only "failed" when a radio switch keeps the adapter off.
            try checkRadioSwitch(information, operation)
            throw error
        }
    }

    /// Powers on an adapter that was on before, even if the task is cancelled. The command is queued behind a power-off
    /// that the kernel has not answered yet. Its failure is not reported, since the earlier error is.
    private nonisolated(nonsending) func powerOnAgain(_ index: UInt16) async {
        let management = LoopBound(management, on: kernel.loop)
        await Task(executorPreference: kernel.loop) {
            _ = try? await management.value.sendWhenIdle(ManagementSetPowered(true), to: index)
        }.value
    }

    /// Sets the adapter's identity: the static address where it has no public one, and the privacy mode. The kernel
    /// accepts both only while the adapter is off.
    private nonisolated(nonsending) func prepareIdentity(
        _ information: inout AdapterInformation, _ power: PowerPolicy, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        let isBare = information.publicAddress.isZero
        guard isBare || privacy != nil else { return }
        if needsOff(information) {
            guard power != .leave else {
                throw BluetoothError(
                    .busy, operation,
                    "\(information.name) is powered on; its privacy mode can be changed only while it is off.",
                    remedy: BluetoothError.remedy(
                        inCode: "Adapter.open(power: .powerOn) powers it off and on.", orRun: "power off"))
            }
            try await management.sendWhenIdle(ManagementSetPowered(false), to: information.index)
            information.activeFeatures.remove(.powered)
        }
        let isFree = !information.isPowered && !information.activeFeatures.contains(.staticAddress)
        let hides = privacy != nil && privacy != .off && !information.isPowered
        var identity = await localIdentity(of: information, orMake: false)
        // An identity created only now does not explain an address that is already set.
        let isOwn = identity == nil ? isFree : mayHaveKeptAddress(information)
        if identity == nil, isBare && isFree || hides { identity = await localIdentity(of: information, orMake: true) }
        if isBare, isOwn, information.staticAddress == nil { information.staticAddress = identity?.staticAddress }
        guard !information.isPowered else { return }
        if isBare, let address = information.staticAddress {
            try await management.send(ManagementSetStaticAddress(address), to: information.index)
        }
        if let privacy, let key = privacy == .off ? .zero : identity?.identityResolvingKey {
            try await management.send(ManagementSetPrivacy(privacy, key), to: information.index)
        }
    }

    /// The adapters, with the stored static addresses of those without a public one.
    nonisolated(nonsending) func knowingStaticAddresses(_ adapters: [AdapterInformation]) async
        -> [AdapterInformation]
    {
        var known: [AdapterInformation] = []
        for var information in adapters {
            if information.publicAddress.isZero, information.staticAddress == nil, mayHaveKeptAddress(information) {
                information.staticAddress = await localIdentity(of: information, orMake: false)?.staticAddress
            }
            known.append(information)
        }
        return known
    }

    /// Whether an adapter without a public address uses the stored static one, or is about to be given it.
    ///
    /// The kernel reports that a static address is set but not which: it is assumed to be the stored one unless BlueZ's
    /// daemon, which sets its own, runs. If none is set, an adapter that is on has none.
    private func mayHaveKeptAddress(_ information: AdapterInformation) -> Bool {
        guard information.activeFeatures.contains(.staticAddress) else { return !information.isPowered }
        return !kernel.environment().isBluetoothDaemonRunning
    }

    private nonisolated(nonsending) func localIdentity(of information: AdapterInformation, orMake makes: Bool) async
        -> LocalIdentity?
    {
        guard let store else { return makes ? .random() : nil }
        let place =
            information.publicAddress.isZero
            ? kernel.port(ofAdapter: information.index) : information.publicAddress.digits
        return await store.localIdentity(ofAdapterAt: place, orMake: makes)
    }

    private func checkRadioSwitch(
        _ information: AdapterInformation, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        var information = information
        information.receive(kernel.radioSwitches())
        if information.state.isBlocked, let error = BluetoothError.unavailable(information.state, operation) {
            throw error
        }
    }
}

extension BluetoothError {
    /// The error, with cause and fix, for using an adapter in this state; nil when it is ready.
    package static func unavailable(_ state: AdapterState, _ operation: Operation) -> BluetoothError? {
        let name = operation.adapter ?? "The adapter"
        switch state.kind {
        case .poweredOn: return nil
        case .lowEnergyOff:
            return BluetoothError(
                .adapterOff, operation, "LE is disabled on \(name).", remedy: lowEnergyRemedy(operation.adapter))
        case .poweredOff:
            return BluetoothError(
                .adapterOff, operation, "\(name) is off.", remedy: powerRemedy(operation.adapter))
        case .blocked(let isHard):
            return BluetoothError(
                .adapterBlocked, operation, "\(name) is blocked by rfkill (\(isHard ? "hard" : "soft")).",
                remedy: isHard ? hardBlockRemedy : softBlockRemedy)
        case .absent:
            return BluetoothError(
                .noAdapter, operation, "\(name) was removed: unplugged, or taken by another program.",
                remedy: "Plug it in again, then look for it with: ble adapters; sudo dmesg | grep -i bluetooth")
        case .unsupported: return BluetoothError(.unsupported, operation, "\(name) has no Bluetooth LE.")
        }
    }

    /// The error of a controller that answers with another public address than before.
    package static func addressChanged(
        _ operation: Operation, from own: BluetoothAddress, to other: BluetoothAddress
    ) -> BluetoothError {
        BluetoothError(
            .noAdapter, operation,
            "\(operation.adapter ?? "The controller") reports the address \(other.digits) instead of \(own.digits).",
            remedy: addressRemedy)
    }

    package static let addressRemedy =
        "Unplug it and plug it in again, or switch the machine off: a restart may not cut its power."
    package static let hardBlockRemedy = "Use the machine's radio switch, or its firmware settings."
    package static let softBlockRemedy = "Fix: sudo rfkill unblock bluetooth"
}

extension AdapterID {
    /// The adapter hciN.
    package init(hci index: UInt16) { self.init("hci\(index)") }

    /// N of hciN, or no adapter's for an identity of another source.
    package var index: UInt16 { UInt16(description.dropFirst(3)) ?? ManagementPacket.noController }
}

// Values read from the kernel.
extension AdapterInformation {
    package var index: UInt16 { id.index }

    /// The information that the management interface returns about an adapter.
    package init(_ read: ControllerInformation, index: UInt16) {
        self.init(
            id: AdapterID(hci: index), publicAddress: read.address, manufacturer: CompanyIdentifier(read.manufacturer),
            version: read.bluetoothVersion, localName: read.name,
            supportedFeatures: AdapterFeatures(read.supportedSettings),
            activeFeatures: AdapterFeatures(read.currentSettings))
    }

    /// Updates the blocks from the adapter's radio switches.
    package mutating func receive(_ switches: [HostEnvironment.RadioSwitch]) {
        let own = switches.first { $0.name == name }
        isSoftBlocked = own?.isSoftBlocked ?? false
        isHardBlocked = own?.isHardBlocked ?? false
    }
}

extension AdapterFeatures {
    /// The features among the kernel's settings of an adapter.
    package init(_ settings: ManagementSettings) {
        let pairs: [(ManagementSettings, AdapterFeatures)] = [
            (.powered, .powered), (.bondable, .bondable), (.secureSimplePairing, .secureSimplePairing),
            (.brEDR, .brEDR), (.lowEnergy, .lowEnergy), (.secureConnections, .secureConnections),
            (.privacy, .privacy), (.staticAddress, .staticAddress),
        ]
        self = AdapterFeatures(pairs.filter { settings.contains($0.0) }.map(\.1))
    }
}
