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
        /// The connection parameters for each PHY.
        var parameters: [LEPHY: LEConnectionParameters]
        var isExtended: Bool
        /// The PHYs on which it looks for the peer's advertisements.
        var primaryPHYs: [LEPHY] { [LEPHY.le1M, .leCoded].filter { parameters[$0] != nil } }
        /// What a controller that connects too late has heard.
        weak var heard: Advertiser?
    }

    init(controller: Controller) { self.controller = controller }

    private var world: World { controller.world }
    var isConnecting: Bool { attempt != nil }
    var usesAcceptList: Bool { attempt.map { $0.peer == nil } ?? false }

    // MARK: Commands

    /// LE Create Connection and LE Extended Create Connection.
    func begin(_ command: AnyHCICommand) -> HCIStatus {
        if let parameters = command.as(LECreateConnection.self) {
            return begin(
                Attempt(
                    peer: parameters.usesAcceptList ? nil : parameters.peer.address,
                    ownAddress: controller.address(parameters.ownAddressType),
                    parameters: [.le1M: parameters.parameters], isExtended: false))
        }
        if let parameters = command.as(LEExtendedCreateConnection.self) {
            let all: [LEPHY: LEInitiatingParameters?] = [
                .le1M: parameters.le1M, .le2M: parameters.le2M, .leCoded: parameters.leCoded,
            ]
            let given = all.compactMapValues { $0?.parameters }
            guard given.keys.allSatisfy({ controller.supportedPHYs.contains(LEPHYSet($0)) }) else {
                return .unsupportedFeatureOrParameterValue
            }
            return begin(
                Attempt(
                    peer: parameters.usesAcceptList ? nil : parameters.peer.address,
                    ownAddress: controller.address(parameters.ownAddressType), parameters: given, isExtended: true))
        }
        return .invalidHCICommandParameters
    }

    private func begin(_ wanted: Attempt) -> HCIStatus {
        guard attempt == nil else { return .commandDisallowed }
        if let peer = wanted.peer, world.links(of: controller).contains(where: { $0.peerAddress == peer }) {
            return .connectionAlreadyExists
        }
        guard !wanted.primaryPHYs.isEmpty, wanted.parameters.values.allSatisfy(\.isValid) else {
            return .invalidHCICommandParameters
        }
        guard controller.hasRoom else { return controller.configuration.linkRefusal }
        attempt = wanted
        world.updateAdvertising()
        return .success
    }

    /// LE Create Connection Cancel, which is answered before the attempt's end is reported.
    func cancel(_ command: AnyHCICommand) -> HCIStatus {
        if let attempt, let advertiser = attempt.heard {
            controller.fault = nil
            connect(attempt, to: advertiser)
            return controller.answer(command, .commandDisallowed)
        }
        guard let cancelled = attempt.take() else { return controller.answer(command, .commandDisallowed) }
        world.updateAdvertising()
        controller.answer(command, .success)
        controller.emit(
            LEEnhancedConnectionComplete(
                LEConnectionComplete(
                    status: .unknownConnectionIdentifier, handle: 0, role: .central,
                    peer: LEPeerAddress(cancelled.peer ?? .zero),
                    parameters: LEActiveConnectionParameters(interval: 0, latency: 0, supervisionTimeout: 0))))
        return .success
    }

    // MARK: Connecting

    /// Connects to a received advertisement if it matches the attempt.
    func hear(_ advertiser: Advertiser) {
        let (primary, phy) = advertiser.advertisement.phys
        guard let attempt, advertiser.advertisement.isLegacy || attempt.isExtended,
            attempt.primaryPHYs.contains(primary), controller.supportedPHYs.contains(LEPHYSet(phy)),
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
        // The link is on the PHY of the advertisement's second packet (Core Vol 6 Part B §4.4.2.3), with that one's
        // parameters if there are any.
        let (primary, phy) = advertiser.advertisement.phys
        guard let chosen = attempt.parameters[phy] ?? attempt.parameters[primary] else { return }
        let parameters = LEActiveConnectionParameters(
            interval: chosen.intervalMinimum, latency: chosen.latency, supervisionTimeout: chosen.supervisionTimeout)
        let end = world.connect(
            central: controller, handle: controller.makeHandle(), address: attempt.ownAddress, to: advertiser,
            on: phy, parameters: parameters)
        world.updateAdvertising()
        controller.linkEstablished(end, through: nil)
    }
}

extension SimulatedAdvertisement {
    /// The PHYs of the first packet and of the one that carries the data.
    fileprivate var phys: (primary: LEPHY, secondary: LEPHY) {
        isLegacy ? (.le1M, .le1M) : (primaryPHY, secondaryPHY)
    }
}
