import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The session of an opened adapter: the owner and isolation domain of its components.
///
/// Its public handle is ``Adapter``.
// Holds more than ten variables: it owns every component of the adapter, and does little but connect them.
package actor AdapterSession: LoopActor {
    private let mark: ComponentCount.Mark
    package nonisolated let loop: EventLoop
    let log: Logger
    /// The packet trace, retained with the adapter.
    let trace: PacketTrace?

    // Read on any thread.

    /// The adapter's information and state; written on the loop.
    nonisolated let adapterRecord: AdapterRecord
    nonisolated let stateSource: LatestValue<AdapterState>
    /// The attributes served to connected devices; see AdapterSession+Peripheral.
    nonisolated let localServer: LocalServer
    /// The pairings and their agent.
    nonisolated let pairings: LoopBound<Pairings>
    /// The adapter's power state machine.
    package nonisolated let powerState: LoopBound<PowerStateMachine>

    // Confined to the loop.

    /// The host below the host seam.
    let host: any Host
    /// The watch over the controller and its scan.
    let health: RadioHealth
    /// The bonds of the adapter; see AdapterSession+Bonds.
    let bondManager: BondManager
    /// The identities and names of devices in range.
    let identities: DeviceIdentities
    let scanner: Scanner
    /// The connection attempts, under way and waiting.
    let scheduler: ConnectScheduler
    /// The room for links, and the connects that wait for it.
    let slots: LinkSlots
    /// The established links, and their factory.
    let links: LinkRegistry
    let linkMaker: LinkMaker
    /// The connection-oriented channels.
    let channels: ChannelMaker
    /// The advertising sets.
    let advertising: AdvertisingSets
    /// The incoming connections.
    let incoming: IncomingLinks

    /// Called on the loop.
    init(
        _ information: AdapterInformation, _ requirements: AdapterRequirements,
        in directory: LoopBound<any HostDirectory>, _ bonds: LoopBound<BondManager>, recovery: RecoveryOptions,
        log: Logger, trace: PacketTrace?
    ) {
        let directory = directory.value
        let loop = directory.loop
        mark = loop.components.mark("AdapterSession")
        let adapterRecord = AdapterRecord(information)
        let stateSource = LatestValue(
            information.state, .init("follow the adapter", adapter: information.name), on: loop)
        let host = directory.makeHost(of: adapterRecord)
        (bondManager, self.host, self.log, self.trace, self.loop) = (bonds.value, host, log, trace, loop)
        (self.adapterRecord, self.stateSource) = (adapterRecord, stateSource)
        localServer = LocalServer(.generic(deviceName: information.localName))
        identities = DeviceIdentities()
        health = RadioHealth(recovery, of: adapterRecord, host.health, on: loop, log: log)
        links = LinkRegistry(health)
        scheduler = ConnectScheduler(on: loop)
        slots = LinkSlots(health, host.advertising, on: loop)
        scanner = Scanner(host.scanning, of: adapterRecord, identities, health, on: loop, log: log)
        let pairings = Pairings(on: adapterRecord, bondManager, links)
        powerState = LoopBound(
            PowerStateMachine(
                of: adapterRecord, stateSource, requirements, in: directory, store: bondManager, health: health,
                log: log), on: loop)
        channels = ChannelMaker(by: host.channels, pairings, on: loop, log: log)
        let environment = LinkEnvironment(
            of: adapterRecord, links, identities, bondManager, pairings, channels)
        linkMaker = LinkMaker(
            in: environment, server: localServer, domain: DetachedSession(on: loop), log: log)
        incoming = IncomingLinks(
            making: linkMaker, localServer, links, pairings, on: loop, log: log)
        advertising = AdvertisingSets(host.advertising, incoming, on: loop)
        self.pairings = LoopBound(pairings, on: loop)
    }

    nonisolated var information: AdapterInformation { adapterRecord.information }

    nonisolated func operation(_ name: String) -> BluetoothError.Operation {
        BluetoothError.Operation(name, adapter: information.name)
    }

    /// Calls `body` on the loop, for what its components do without the session.
    func callAsFunction<Value: Sendable>(_ body: @Sendable (isolated AdapterSession) async -> Value) async -> Value {
        await body(self)
    }

    func controllerProperties() async throws(BluetoothError) -> ControllerProperties {
        try checkUsable()
        return try await host.health.controllerProperties(operation("read the controller's properties"))
    }

    func checkHealth() async throws(BluetoothError) -> AdapterHealth {
        try checkUsable()
        return try await health.check(operation("check the health"))
    }

    // MARK: State

    nonisolated var state: AdapterState { stateSource.value }

    nonisolated var states: BoundedStream<AdapterState> { stateSource.stream(keeping: self) }

    func ready(timeout: Duration?) async throws(BluetoothError) { try await powerState.value.ready(timeout: timeout) }

    func setPowered(_ isOn: Bool) async throws(BluetoothError) {
        try await health.withdraw(operation("power \(isOn ? "on" : "off")"))
        try await powerState.value.setPowered(isOn)
    }

    /// Throws the reason if the adapter cannot be used now.
    func checkUsable() throws(BluetoothError) {
        try powerState.value.checkUsable()
        host.adapterChanged(.available)
    }

    /// Connects the components with each other, and begins to follow the adapter.
    func begin() {
        linkMaker.session = self
        channels.session = self
        bondManager.begin(links, identities)
        host.start(HostEvents(to: scanner, health, scheduler, slots, advertising))
        pairings.value.follow()
        followHealth()
        followPowerState()
        powerState.value.begin()
    }

    private func followHealth() {
        _ = health.followers.add { [weak scanner, weak host, stateSource] event in
            switch event.kind {
            // A controller that has lost the scan may have lost more.
            case .recovered(.restartScan): host?.adapterChanged(.forgetful)
            case .gaveUp(let reason, _) where !stateSource.value.isReady:
                scanner?.recoveryFailed(reason)
                host?.adapterChanged(.unavailable(reason, comesBack: false))
            default: break
            }
        }
    }

    private func followPowerState() {
        _ = powerState.value.follow {
            [incoming, localServer, channels, pairings, host, bondManager, health] turn in
            switch turn {
            case .changing(_, let state, let reason):
                pairings.value.adapterChanged(state == .absent ? reason : nil)
                if let reason {
                    // A hardware error, or the answer to the question after it, came before the kernel's power-off.
                    host.adapterChanged(.leaving)
                    health.adapterChanged(isReady: false)
                    host.adapterChanged(.left(reason))
                }
            case .changed(_, _, let reason?):
                host.adapterChanged(.unavailable(reason, comesBack: health.willRestoreAdapter))
            case .changed(_, _, nil):
                host.adapterChanged(.available)
                health.adapterChanged(isReady: true)
            case .ended(let reason):
                host.adapterChanged(.closing(reason))
                incoming.close(reason)
                localServer.close(reason)
                channels.close(reason)
                health.close(reason)
                pairings.value.close(reason)
                host.close(reason)
                bondManager.close(reason)
            }
        }
    }

    func close() async {
        await health.finishStep()
        await advertising.stopAll()
        incoming.endServing()
        await bondManager.flush()
        powerState.value.finish(
            BluetoothError(.cancelled, operation("use the adapter"), "This program has closed the adapter."))
    }
}
