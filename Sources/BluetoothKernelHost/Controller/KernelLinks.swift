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
            preparation.entry = try await initialParameters.begin(
                parameters, for: request.peer, timeout: request.remaining(at: loop.now))
        }
        if !request.phys.subtracting(.le1M).isEmpty {
            var operation = request.operation
            operation.adapter = commands.name
            preparation.hold = try await phyPolicy.begin(
                request.phys, operation, timeout: request.remaining(at: loop.now))
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

    func attach(_ handle: UInt16, onEncrypted: (() -> Void)?) -> KernelLink {
        commands.receiveWaiting()
        return KernelLink(self, table.add(ConnectionHandle(rawValue: handle), onEncrypted: onEncrypted))
    }

    func detach(_ number: UInt64) {
        guard let entry = table.remove(number) else { return }
        entry.watch?.end(
            BluetoothError(.disconnected, .init("use the link", adapter: commands.name), "The link has ended."))
        linksChanged()
    }

    func disconnect(_ number: UInt64) {
        guard let handle = try? handle(of: number, .init("end the link", adapter: commands.name)) else { return }
        commands.send(HCIDisconnect(handle, reason: .authenticationFailure)) { _ in }
    }

    func end(_ number: UInt64, _ reason: BluetoothError) {
        table[number]?.watch?.end(reason)
        table[number]?.watch = nil
    }

    private func linksChanged() {
        if table.isIdle, lost.awaitsAttempt { return lostTimer.set(after: OrphanedLinks.attemptPatience) }
        guard isIdle else { return }
        table.forgetOthers()
        refusals.forget()
        commands.closeIfIdle()
    }

    /// The controller's reason for a link's end.
    ///
    /// The kernel passes every event to raw sockets before it acts on it, so when the link's socket ends the reason is
    /// queued here already, though perhaps not received. Nil when the kernel has ended the link without an event: when
    /// it powers the adapter off, it ends the links as soon as the controller has accepted its command.
    func endReason(of number: UInt64) -> HCIStatus? {
        if table[number]?.endReason == nil { commands.receiveWaiting() }
        return table[number]?.endReason
    }

    // MARK: Events

    /// Records a new link, whose owner is not known yet, or the failure of an attempt.
    func began(_ event: LEConnectionComplete) {
        table.began(event)
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
            if let handler = table.encryptionHandler(of: event.handle) { loop.executeLocally(handler) }
        } else if let event = try event.as(LEConnectionUpdateComplete.self) {
            receive(event)
        } else if let event = try event.as(LEPHYUpdate.self) {
            receive(event)
        } else if let event = try event.as(LEDataLengthChange.self) {
            receive(event)
        }
        return nil
    }

    private func receive(_ event: LEConnectionUpdateComplete) {
        table.updated(event)
        guard let number = table.number(of: event.handle), let watch = table[number]?.watch else { return }
        let change = LinkChange.parameters(ConnectionParameters(event.parameters))
        watch.resolve(result(change, event.status)) { procedure in
            guard case .parameters(let wanted) = procedure else { return false }
            // Another change, such as the peer's, may come in between.
            return !event.status.isSuccess || wanted.includes(event.parameters)
        }
        guard event.status.isSuccess else { return }
        watch.report(change)
        guard let range = watch.enforcer.request(insteadOf: event.parameters, at: loop.now) else { return }
        log.debug("requests its own parameters again", metadata: ["handle": "\(event.handle)"])
        commands.send(LEConnectionUpdate(event.handle, range)) { _ in }
    }

    private func receive(_ event: LEPHYUpdate) {
        guard let number = table.number(of: event.phys.handle), let watch = table[number]?.watch else { return }
        let change = LinkChange.phys(LinkPHYs(event.phys))
        watch.resolve(result(change, event.status)) { $0 == .phys }
        if event.status.isSuccess { watch.report(change) }
    }

    private func receive(_ event: LEDataLengthChange) {
        guard let number = table.number(of: event.handle) else { return }
        table[number]?.dataLength = event.length
        table[number]?.watch?.report(.dataLength(LinkDataLength(event.length)))
    }

    /// The result of a procedure for its waiting callers.
    private func result(_ change: LinkChange, _ status: HCIStatus) -> Result<LinkChange, BluetoothError> {
        status.isSuccess ? .success(change) : .failure(.linkProcedure(.init("change the link"), status))
    }

    // MARK: Procedures

    func parameters(of number: UInt64) -> LEActiveConnectionParameters? { table[number]?.parameters }

    func dataLength(of number: UInt64) -> LEDataLength? { table[number]?.dataLength }

    /// Sends a command about a link and returns the answer.
    nonisolated(nonsending) func ask<Command: HCICommand>(
        _ number: UInt64, _ operation: BluetoothError.Operation, timeout: Duration?,
        _ command: (ConnectionHandle) -> Command
    ) async throws(BluetoothError) -> Command.Return {
        let call = Promise<Command.Return, BluetoothError>()
        commands.send(command(try handle(of: number, operation))) { answer in
            call.resolve(answer.mapError { $0.about(operation) })
        }
        return try await call.value(operation, timeout: timeout, on: loop)
    }

    /// Sends a command that an event completes, and returns the event's content.
    nonisolated(nonsending) func change(
        _ number: UInt64, _ operation: BluetoothError.Operation, timeout: Duration?, _ procedure: LinkWatch.Procedure,
        _ command: (ConnectionHandle) -> some HCICommand
    ) async throws(BluetoothError) -> LinkChange {
        let call = try watch(of: number, operation).waiter(for: procedure)
        commands.send(command(try handle(of: number, operation))) { answer in
            if case .failure(let error) = answer { call.fail(error.about(operation)) }
        }
        do {
            return try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            throw error.during(operation)
        }
    }

    /// Returns the waiters and follower of a link, created on first use.
    func watch(
        of number: UInt64, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> LinkWatch {
        _ = try handle(of: number, operation)
        if let watch = table[number]?.watch { return watch }
        let watch = LinkWatch()
        table[number]?.watch = watch
        return watch
    }

    private func handle(
        of number: UInt64, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> ConnectionHandle {
        if let end = commands.end { throw end.about(operation) }
        guard let entry = table[number], entry.endReason == nil else {
            throw BluetoothError(.disconnected, operation, "The link has ended.", isRetryable: true)
        }
        return entry.handle
    }
}
