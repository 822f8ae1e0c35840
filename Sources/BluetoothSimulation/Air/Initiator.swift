import BluetoothPrimitives
import BluetoothHCI

/// The initiator of a controller: at most one connection attempt at a time, completed by the first matching
/// advertisement.
final class Initiator {
    private unowned let controller: Controller
    private var attempt: Attempt?

    private struct Attempt {
        /// The peer; nil for any device on the filter accept list.
        var peer: BluetoothAddress?
        var ownAddress: BluetoothAddress
        var parameters: LEConnectionParameters
        var isExtended: Bool
        /// What a controller that connects too late has heard.
        weak var heard: Advertiser?
    }

    init(controller: Controller) { self.controller = controller }

    private var world: World { controller.world }
    var isConnecting: Bool { attempt != nil }
    var usesAcceptList: Bool { attempt.map { $0.peer == nil } ?? false }

    func reset() { attempt = nil }

    // MARK: Commands

    /// LE Create Connection and LE Extended Create Connection.
    func begin(_ command: HCICommand) -> HCIStatus {
        switch command {
        case .leCreateConnection(let parameters):
            return begin(
                Attempt(
                    peer: parameters.usesAcceptList ? nil : parameters.peer.address,
                    ownAddress: controller.address(parameters.ownAddressType), parameters: parameters.parameters,
                    isExtended: false))
        case .leExtendedCreateConnection(let parameters):
            guard let phy = parameters.le1M ?? parameters.le2M ?? parameters.leCoded else {
                return .invalidHCICommandParameters
            }
            return begin(
                Attempt(
                    peer: parameters.usesAcceptList ? nil : parameters.peer.address,
                    ownAddress: controller.address(parameters.ownAddressType), parameters: phy.parameters,
                    isExtended: true))
        default: return .unknownHCICommand
        }
    }

    private func begin(_ wanted: Attempt) -> HCIStatus {
        guard attempt == nil else { return .commandDisallowed }
        if let peer = wanted.peer, world.links(of: controller).contains(where: { $0.peerAddress == peer }) {
            return .connectionAlreadyExists
        }
        guard wanted.parameters.isValid else { return .invalidHCICommandParameters }
        guard controller.hasRoom else { return controller.configuration.linkRefusal }
        attempt = wanted
        world.updateAdvertising()
        return .success
    }

    /// LE Create Connection Cancel, which is answered before the attempt's end is reported.
    func cancel(_ command: HCICommand) -> HCIStatus {
        if let attempt, let advertiser = attempt.heard {
            controller.fault = nil
            connect(attempt, to: advertiser)
            return controller.answer(command, .commandDisallowed)
        }
        guard let cancelled = attempt.take() else { return controller.answer(command, .commandDisallowed) }
        world.updateAdvertising()
        controller.answer(command, .success)
        controller.emit(
            .leMeta(
                .enhancedConnectionComplete(
                    LEConnectionComplete(
                        status: .unknownConnectionIdentifier, handle: 0, role: .central,
                        peer: LEPeerAddress(cancelled.peer ?? .zero),
                        parameters: LEActiveConnectionParameters(interval: 0, latency: 0, supervisionTimeout: 0)))))
        return .success
    }

    // MARK: Connecting

    /// Connects to a received advertisement if it matches the attempt.
    func hear(_ advertiser: Advertiser) {
        guard let attempt, advertiser.advertisement.isLegacy || attempt.isExtended,
            attempt.peer.map({ $0 == advertiser.address })
                ?? controller.acceptList.contains(.device(advertiser.address)),
            advertiser.node.accepts(attempt.ownAddress, by: advertiser)
        else { return }
        guard controller.fault?.symptom != .connectsTooLate else {
            self.attempt?.heard = advertiser
            return
        }
        connect(attempt, to: advertiser)
    }

    private func connect(_ attempt: Attempt, to advertiser: Advertiser) {
        self.attempt = nil
        let parameters = LEActiveConnectionParameters(
            interval: attempt.parameters.intervalMinimum, latency: attempt.parameters.latency,
            supervisionTimeout: attempt.parameters.supervisionTimeout)
        let end = world.connect(
            central: controller, handle: controller.makeHandle(), address: attempt.ownAddress, to: advertiser,
            parameters: parameters)
        world.updateAdvertising()
        controller.linkEstablished(end, through: nil)
    }
}
