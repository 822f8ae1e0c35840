import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The session of an opened adapter: the owner and isolation domain of its components.
///
/// Its public handle is ``Adapter``.
actor AdapterSession: LoopActor {
    private let mark: ComponentCount.Mark
    nonisolated let loop: EventLoop

    let log: Logger
    /// The packet trace, retained with the adapter.
    let trace: PacketTrace?
    nonisolated private let view: View
    /// The host below the host seam.
    let host: any Host
    /// The adapter's power state machine.
    let life: LoopBound<AdapterLife>
    let central: CentralComponents
    let peripheral: PeripheralComponents
    let shared: SharedComponents
    /// The bonds of the adapter; see AdapterSession+Bonds.
    let bondKeeper: BondKeeper

    /// The state that handles access from any thread.
    private struct View {
        /// The adapter's information and state; written on the loop.
        let facts: AdapterFacts
        let standing: LatestValue<AdapterState>
        /// The attributes served to connected devices; see AdapterSession+Peripheral.
        let localServer: LocalServer
        /// The pairings and their agent.
        let pairings: LoopBound<Pairings>
    }

    /// The components that find devices and connect to them.
    struct CentralComponents {
        /// The connection attempts, under way and waiting.
        let connects: Connects
        let scanner: Scanner
        /// The identities and names of devices in range.
        let identities: DeviceIdentities
    }

    /// The components of the peripheral role.
    struct PeripheralComponents {
        /// The advertising sets.
        let advertising: AdvertisingSets
        /// The incoming connections.
        let incoming: IncomingLinks
    }

    /// The components that both roles share.
    struct SharedComponents {
        /// The established links, and their factory.
        let links: LinkRegistry
        let maker: LinkMaker
        /// The connection-oriented channels.
        let channels: ChannelMaker
    }

    nonisolated var facts: AdapterFacts { view.facts }
    nonisolated var standing: LatestValue<AdapterState> { view.standing }
    nonisolated var localServer: LocalServer { view.localServer }
    nonisolated var pairings: LoopBound<Pairings> { view.pairings }
    var connects: Connects { central.connects }
    var scanner: Scanner { central.scanner }
    var identities: DeviceIdentities { central.identities }
    var advertising: AdvertisingSets { peripheral.advertising }
    var incoming: IncomingLinks { peripheral.incoming }
    var links: LinkRegistry { shared.links }
    var linkMaker: LinkMaker { shared.maker }
    var channels: ChannelMaker { shared.channels }

    /// Called on the loop.
    init(
        _ information: AdapterInformation, _ wish: AdapterWish, in directory: LoopBound<any HostDirectory>,
        _ bonds: LoopBound<BondKeeper>, log: Logger, trace: PacketTrace?
    ) {
        let directory = directory.value
        let loop = directory.loop
        mark = loop.components.mark("AdapterSession")
        let facts = AdapterFacts(information)
        let standing = LatestValue(
            information.state, .init("follow the adapter", adapter: information.name), on: loop)
        let host = directory.makeHost(of: facts) { standing.value }
        (bondKeeper, self.host, self.log, self.trace, self.loop) = (bonds.value, host, log, trace, loop)
        let localServer = LocalServer(.generic(deviceName: information.localName))
        let links = LinkRegistry()
        let identities = DeviceIdentities()
        central = CentralComponents(
            connects: Connects(on: loop), scanner: Scanner(host.scanning, of: facts, identities, on: loop, log: log),
            identities: identities)
        let advertising = AdvertisingSets(host.advertising, on: loop)
        let pairings = LoopBound(Pairings(on: facts, host.pairing, loop, bondKeeper, links, log: log), on: loop)
        view = View(facts: facts, standing: standing, localServer: localServer, pairings: pairings)
        life = LoopBound(
            AdapterLife(of: facts, standing, wish, in: directory, knowing: bondKeeper, log: log), on: loop)
        let channels = ChannelMaker(of: facts, by: host.channels, pairings.value, on: loop, log: log)
        let surroundings = LinkSurroundings(
            of: facts, by: host.channels, links, host.links, identities, bondKeeper, pairings.value, channels)
        let maker = LinkMaker(
            of: facts, in: surroundings, server: localServer, domain: LooseSession(on: loop), log: log)
        shared = SharedComponents(links: links, maker: maker, channels: channels)
        let incoming = IncomingLinks(
            making: maker, localServer, advertising, links, pairings.value, host.links, on: loop, log: log)
        peripheral = PeripheralComponents(advertising: advertising, incoming: incoming)
    }

    nonisolated var information: AdapterInformation { facts.information }

    nonisolated func operation(_ name: String) -> BluetoothError.Operation {
        BluetoothError.Operation(name, adapter: information.name)
    }

    // MARK: State

    nonisolated var state: AdapterState { standing.value }

    nonisolated var states: BoundedStream<AdapterState> { standing.stream(keeping: self) }

    func ready(timeout: Duration?) async throws(BluetoothError) { try await life.value.ready(timeout: timeout) }

    func setPowered(_ isOn: Bool) async throws(BluetoothError) { try await life.value.setPowered(isOn) }

    /// Throws the reason if the adapter cannot be used now.
    func checkUsable() throws(BluetoothError) {
        try life.value.checkUsable()
        comeBack()
    }

    private func comeBack() {
        if host.comeBack(as: information) { connects.adapterIsBack() }
    }

    /// Connects the components with each other, and begins to follow the adapter.
    func begin() {
        linkMaker.session = self
        channels.session = self
        followBonds()
        host.follow(
            onUnreachable: { [weak life = life.value] in life?.look() },
            onEnd: { [weak connects] reason, isForGood in connects?.adapterEnds(reason, isForGood: isForGood) })
        advertising.onOffersChanged = { [weak incoming] in incoming?.offersChanged() }
        pairings.value.follow()
        followLife()
        life.value.begin()
    }

    private func followLife() {
        _ = life.value.follow {
            [facts, incoming, channels, pairings, host, connects, bondKeeper] turn in
            switch turn {
            case .changing(let before, let state, let reason):
                // A host that has lost an adapter has lost its keys.
                if before == .absent { bondKeeper.reload(facts.information.index) }
                pairings.value.adapterChanged(state == .absent ? reason : nil)
                if let reason {
                    host.leave(reason)
                    host.channels.adapterHasLeft(reason)
                } else if host.comeBack(as: facts.information) {
                    connects.adapterIsBack()
                }
            case .changed(_, let reason?): host.advertising.adapterHasLeft(reason)
            case .changed(_, nil): host.advertising.adapterIsBack()
            case .ended(let reason):
                host.channels.close()
                host.advertising.end(reason)
                incoming.close(reason)
                channels.close(reason)
                pairings.value.close(reason)
                host.close(reason)
                bondKeeper.close(reason)
            }
        }
    }

    func close() async {
        await advertising.stopAll()
        incoming.endServing()
        await bondKeeper.flush()
        life.value.finish(
            BluetoothError(.cancelled, operation("use the adapter"), "This program has closed the adapter."))
    }
}
