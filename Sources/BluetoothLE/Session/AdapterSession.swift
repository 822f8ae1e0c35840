import BluetoothKernel
import BluetoothPrimitives
import HCI
import KernelHost
import Logging
import Synchronization

/// Everything of an opened adapter: owns its components, and is the one domain they live in.
///
/// What is public of it is ``Adapter``.
actor AdapterSession: LoopActor {
    nonisolated let loop: EventLoop

    let kernel: any BluetoothKernel
    let log: Logger
    /// Records what happens; kept alive with the adapter.
    let trace: PacketTrace?
    let management: LoopBound<ManagementClient>
    let directory: LoopBound<any HostDirectory>
    let controller: LoopBound<Controller>
    /// Explains the ends of links.
    let linkEnds: LinkEnds
    /// What is known of it, and how it stands; written on the loop.
    nonisolated let facts: AdapterFacts
    nonisolated let standing: LatestValue<AdapterState>
    /// Its ups and downs, and its end.
    let life: LoopBound<AdapterLife>
    /// What is advertised.
    let advertising: AdvertisingSets
    /// Who answers the questions of pairing, and those that are being asked.
    let pairings: LoopBound<Pairings>
    /// The links that are up.
    let links: LoopBound<LinkRegistry>
    let linkMaker: LinkMaker
    /// Those that centrals make.
    let incoming: IncomingLinks
    /// The connection-oriented channels.
    let channels: ChannelMaker
    /// What the devices connected to find here; see AdapterSession+Publishing.
    let localServer: LocalServer
    /// Who they are, as far as they were paired with; see AdapterSession+Bonds.
    let bondKeeper: LoopBound<BondKeeper>

    init(
        _ opened: LooseSession.Opened, power: PowerPolicy, privacy: PrivacyMode?,
        on kernel: any BluetoothKernel, log: Logger, trace: PacketTrace?
    ) {
        let information = opened.information
        bondKeeper = opened.bonds
        facts = AdapterFacts(information)
        management = opened.management
        directory = opened.directory
        self.kernel = kernel
        self.log = log
        self.trace = trace
        trace?.synthesis?.opened(information)
        loop = kernel.loop
        standing = LatestValue(information.state, .init("follow the adapter", adapter: information.name), on: loop)
        links = LoopBound(sending: LinkRegistry(), to: loop)
        localServer = LocalServer(.generic(deviceName: information.localName))
        controller = LoopBound(
            sending: Controller(
                information.index, ownAddress: information.ownAddress, management: management, on: kernel, log: log,
                trace: trace?.synthesis), to: loop)
        advertising = AdvertisingSets(of: facts, standing, management, localServer, links, on: loop, log: log)
        pairings = LoopBound(
            sending: Pairings(
                on: facts, KernelPairing(on: facts, of: kernel, management: management, log: log), loop,
                controller: controller, bonds: bondKeeper, links: LoopBound(links.value, on: loop), log: log), to: loop)
        life = LoopBound(
            AdapterLife(
                of: facts, standing, AdapterWish(power: power, privacy: privacy), in: directory.value,
                knowing: bondKeeper.value, log: log), on: loop)
        linkEnds = LinkEnds(
            of: facts, directory.value, on: loop, state: { [standing] in standing.value },
            isPoweringOff: { [controller] in controller.value.isPoweringOff })
        channels = ChannelMaker(of: facts, on: kernel, linkEnds, controller, pairings, log: log)
        let surroundings = LinkSurroundings(
            of: facts, on: kernel, links, linkEnds, controller, bondKeeper, pairings, channels)
        linkMaker = LinkMaker(
            of: facts, in: surroundings, server: localServer, domain: LooseSession(on: loop), trace: trace, log: log)
        incoming = IncomingLinks(
            making: linkMaker, localServer, advertising, links, pairings, controller, on: loop, log: log)
    }

    nonisolated var information: AdapterInformation { facts.information }

    nonisolated func operation(_ name: String) -> BluetoothError.Operation {
        BluetoothError.Operation(name, adapter: information.name)
    }

    // MARK: Its life

    nonisolated var state: AdapterState { standing.value }

    nonisolated var states: BoundedStream<AdapterState> { standing.stream(keeping: self) }

    func ready(timeout: Duration?) async throws(BluetoothError) { try await life.value.ready(timeout: timeout) }

    func setPowered(_ isOn: Bool) async throws(BluetoothError) { try await life.value.setPowered(isOn) }

    /// Throws why nothing can be done with the adapter now, if so.
    func checkUsable() throws(BluetoothError) {
        try life.value.checkUsable()
        controller.value.comeBack(as: information)
    }

    /// Has the components know of each other and of what happens to the adapter.
    func begin() {
        linkMaker.session = self
        channels.session = self
        followBonds()
        controller.value.followDiscoveries()
        controller.value.setUnreachableHandler { [weak life = life.value] in life?.look() }
        advertising.onOffersChanged = { [weak incoming] in incoming?.offersChanged() }
        pairings.value.follow()
        followLife()
        life.value.begin()
    }

    private func followLife() {
        _ = life.value.follow {
            [facts, advertising, incoming, channels, pairings, controller, bondKeeper, linkEnds] turn in
            switch turn {
            case .changing(let before, let state, let reason):
                // A kernel that has lost an adapter has lost its keys.
                if before == .absent { bondKeeper.value.reload(facts.information.index) }
                pairings.value.adapterChanged(state == .absent ? reason : nil)
                if let reason {
                    controller.value.leave(reason)
                    linkEnds.completeAll(reason)
                } else {
                    controller.value.comeBack(as: facts.information)
                }
            case .changed(let state, let reason?): advertising.adapterLeaves(reason, isAbsent: state == .absent)
            case .changed(_, nil): advertising.adapterComesBack()
            case .ended(let reason):
                linkEnds.close()
                advertising.close(reason)
                incoming.close(reason)
                channels.close(reason)
                pairings.value.close(reason)
                controller.value.close(reason)
                bondKeeper.value.close(reason)
            }
        }
    }

    func close() async {
        await advertising.stopAll()
        incoming.endServing()
        await bondKeeper.value.flush()
        life.value.finish(
            BluetoothError(.cancelled, operation("use the adapter"), "The adapter was closed by this program."))
    }
}

/// What an adapter shows of itself where the program, and not the kernel, tells the controller what to show.
enum OwnAddress: Hashable, Sendable {
    /// The public address.
    case `public`
    /// The static random address, which the kernel has told the controller.
    case `static`
    /// Another one each time, of which nobody can tell whose it is.
    case `private`

    /// How HCI commands name it.
    var type: LEOwnAddressType { self == .public ? .public : .random }
}

extension AdapterInformation {
    /// What the adapter shows of itself.
    var ownAddress: OwnAddress { usesPrivateAddresses ? .private : publicAddress.isZero ? .static : .public }
}
