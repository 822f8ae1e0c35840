import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Logging

/// The links of a controller: the reasons for their ends, their parameters, and the procedures on them.
///
/// Every program receives Disconnection Complete; LE events, and commands other than Read RSSI, need CAP_NET_RAW.
//
// Lives on the loop, with the controller.
// Holds more than ten variables: the parts of a controller that each event of a link concerns.
final class KernelLinks {
    private let mark: ComponentCount.Mark
    let commands: HCICommandQueue
    let kernel: any BluetoothKernel
    private let initialParameters: InitialParameters
    private let phyPolicy: PHYPolicy
    private let log: Logger
    private var table = LinkTable()
    private var lost = OrphanedLinks()
    private lazy var lostTimer = kernel.loop.makeTimer(of: self) { $0.lostTimerFired() }
    private var refusals = ConnectRefusals()

    init(
        _ commands: HCICommandQueue, _ initialParameters: InitialParameters, _ phyPolicy: PHYPolicy,
        on kernel: any BluetoothKernel, log: Logger
    ) {
        mark = kernel.loop.components.mark("KernelLinks")
        (self.commands, self.initialParameters, self.phyPolicy) = (commands, initialParameters, phyPolicy)
        (self.kernel, self.log) = (kernel, log)
    }

    var loop: EventLoop { kernel.loop }

    /// Whether no component needs the controller's events.
    var isIdle: Bool { table.isIdle && lost.isNone }

    // MARK: Following

    /// Follows the controller as long as the result is retained; must precede creating or accepting links, so that their
    /// events are not missed.
    func following() -> LinkFollowing {
        table.connecting += 1
        follow()
        return LinkFollowing(self)
    }

    func endFollowing() {
        table.connecting -= 1
        linksChanged()
    }

    /// Prepares the kernel for the links of a request; releasing the result undoes it.
    /// - Throws: `.unsupported` if the controller lacks one of the PHYs; `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func prepare(_ request: LinkRequest) async throws(BluetoothError) -> LinkPreparation {
        let preparation = LinkPreparation(initialParameters, phyPolicy)
        if let parameters = request.parameters {
            try await initialParameters.begin(
                parameters, for: request.peer, as: preparation.id, timeout: request.remaining(at: loop.now))
        }
        if !request.phys.subtracting(.le1M).isEmpty {
            var operation = request.operation
            operation.adapter = commands.name
            try await phyPolicy.begin(
                request.phys, as: preparation.id, operation, timeout: request.remaining(at: loop.now))
        }
        preparation.following = following()
        return preparation
    }

    /// Resumes: the adapter is back.
    func resume() {
        if table.connecting > 0 { follow() }
    }

    /// Puts back what was set in the kernel for links being created; the management interface is about to be closed.
    func close() {
        initialParameters.close()
        phyPolicy.close()
    }

    /// Ends all waits: no more events will arrive.
    func end(_ reason: BluetoothError) {
        lostTimer.cancel()
        lost = OrphanedLinks()
        table.end(reason)
    }

    private func follow() {
        // Without it the link works as well, but less of its state is known.
        do throws(BluetoothError) {
            try commands.open(.init("follow links", adapter: commands.name))
        } catch {
            log.debug("\(error)")
        }
    }

    func attach(_ handle: UInt16, onEncrypted: @escaping () -> Void) -> KernelLink {
        commands.receiveWaiting()
        let link = KernelLink(ConnectionHandle(rawValue: handle), of: self)
        table.add(link, onEncrypted)
        return link
    }

    func detach(_ handle: ConnectionHandle) {
        table.remove(handle)
        linksChanged()
    }

    private func linksChanged() {
        if table.isIdle, lost.awaitsAttempt { return lostTimer.set(after: OrphanedLinks.attemptPatience) }
        guard isIdle else { return }
        table.forgetOthers()
        refusals.forget()
        commands.closeIfIdle()
    }

    // MARK: Events

    /// Records a new link, whose owner is not known yet, or the failure of an attempt.
    func began(_ event: LEConnectionComplete) {
        if event.status.isSuccess { table.record(event.parameters, of: event.handle) }
        refusals.receive(event)
        guard !event.status.isSuccess || event.role == .central else { return }
        act(lost.attemptEnded(event.status, isFollowed: table.connecting > 0))
    }

    /// Records the answer to a command of the kernel or of another program.
    func receiveOthers(_ command: AnyHCICommand, _ status: HCIStatus) {
        refusals.receive(command, status)
        act(lost.answered(command, status))
    }

    /// The controller's status if it has refused the last connection to a peer because the link limit is reached.
    func takeRefusal(of peer: BluetoothAddress) -> HCIStatus? {
        commands.receiveWaiting()
        return refusals.take(LEPeerAddress(peer))
    }

    // MARK: Links that the kernel has lost

    private func act(_ action: OrphanedLinks.Action?) {
        switch action {
        case .search: lostTimer.set(after: OrphanedLinks.patience)
        case .rest: linksChanged()
        case nil: break
        }
    }

    private func lostTimerFired() {
        guard lost.awaitsAttempt else { return endLostLinks() }
        guard table.isIdle else { return }
        lost.attemptExpired()
        linksChanged()
    }

    /// Ends the links that the kernel does not know.
    private func endLostLinks() {
        lost.searched()
        defer { linksChanged() }
        do throws(KernelError) {
            let known = try kernel.linkHandles(ofAdapter: commands.index)
            for handle in table.otherHandles where !known.contains(handle.rawValue) {
                log.warning(
                    "ends a link that came up while its attempt was being cancelled, and that the kernel has forgotten",
                    metadata: ["handle": "\(handle)"])
                commands.send(HCIDisconnect(handle, reason: .remoteUserTerminatedConnection)) { _ in }
            }
        } catch {
            log.debug("\(error)")
        }
    }

    /// Receives an event of a link, and returns the handle of a link that has ended.
    func receive(_ event: HCIEventPacket) throws(TruncatedBytes) -> UInt16? {
        if let event = try event.as(HCIDisconnectionComplete.self) {
            guard event.status.isSuccess else { return nil }
            table.ended(event)
            return event.handle.rawValue
        } else if let event = try event.as(HCIEncryptionChange.self) {
            guard event.status.isSuccess, event.isEncrypted else { return nil }
            // Deferred, since the packet is still being received.
            if let handler = table.encryptionHandler(event.handle) { loop.executeLocally(handler) }
        } else if let event = try event.as(LEConnectionUpdateComplete.self) {
            receive(event)
        } else if let event = try event.as(LEPHYUpdate.self) {
            table[event.phys.handle]?.receive(event)
        } else if let event = try event.as(LEDataLengthChange.self) {
            table[event.handle]?.receive(event)
        }
        return nil
    }

    private func receive(_ event: LEConnectionUpdateComplete) {
        if event.status.isSuccess { table.record(event.parameters, of: event.handle) }
        guard let range = table[event.handle]?.receive(event) else { return }
        log.debug("requests its own parameters again", metadata: ["handle": "\(event.handle)"])
        commands.send(LEConnectionUpdate(event.handle, range)) { _ in }
    }
}

/// The links of a controller, as its events report them: this program's and others'.
private struct LinkTable {
    /// The number of connections being created, whose events are still to come.
    var connecting = 0
    /// The number of links of this program, with those that have ended and are not dropped yet.
    private var count = 0
    /// The links of this program. A handle is reused after its link has ended.
    private var ours: [ConnectionHandle: (link: WeakReference<KernelLink>, onEncrypted: () -> Void)] = [:]
    /// The parameters of links that are not ours, or not yet. There are at most as many as handles.
    private var others: [ConnectionHandle: LEActiveConnectionParameters] = [:]

    /// Whether no component needs the controller's events.
    var isIdle: Bool { connecting == 0 && count == 0 }

    /// Our link that has this handle now.
    subscript(handle: ConnectionHandle) -> KernelLink? { ours[handle]?.link.object }

    /// What to call when the link with this handle is encrypted.
    func encryptionHandler(_ handle: ConnectionHandle) -> (() -> Void)? { ours[handle]?.onEncrypted }

    /// Adds a new link of this program.
    mutating func add(_ link: KernelLink, _ onEncrypted: @escaping () -> Void) {
        count += 1
        link.parameters = others.removeValue(forKey: link.handle).map { ConnectionParameters($0) }
        ours[link.handle] = (WeakReference(to: link), onEncrypted)
    }

    /// Removes a link of this program, which has been dropped.
    mutating func remove(_ handle: ConnectionHandle) {
        count -= 1
        if self[handle] == nil { ours[handle] = nil }
    }

    /// The links that are not ours, or not yet.
    var otherHandles: [ConnectionHandle] { Array(others.keys) }

    /// Discards the links that are not ours, when no component follows the controller any longer.
    mutating func forgetOthers() {
        others = [:]
    }

    /// Ends all waits: no more events will arrive.
    func end(_ reason: BluetoothError) {
        for (link, _) in ours.values { link.object?.end(reason) }
    }

    /// Records the parameters of a new link, whose owner is not known yet, or a link's new ones.
    mutating func record(_ parameters: LEActiveConnectionParameters, of handle: ConnectionHandle) {
        if let link = self[handle] {
            link.parameters = ConnectionParameters(parameters)
        } else {
            others[handle] = parameters
        }
    }

    /// Records a link's end; its handle may be reused.
    mutating func ended(_ event: HCIDisconnectionComplete) {
        others[event.handle] = nil
        ours.removeValue(forKey: event.handle)?.link.object?.endReason = event.reason
    }
}
