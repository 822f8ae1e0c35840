import BluetoothKernel
import BluetoothPrimitives
import HCI
import KernelHost

/// A connection's hold on what the controller knows of its link; dropping it lets go.
final class LinkAttachment: Sendable {
    let controller: LoopBound<Controller>
    private let loop: EventLoop
    let number: UInt64

    fileprivate init(_ controller: Controller, _ number: UInt64) {
        loop = controller.loop
        self.controller = LoopBound(controller, on: loop)
        self.number = number
    }

    deinit {
        loop.execute { [controller, number] in controller.value.detach(number) }
    }

    /// What the end of the link's socket means. Called on the loop.
    func reasonOfEnd(_ peer: BluetoothAddress, _ error: KernelError) -> BluetoothError {
        let controller = controller.value
        let status = controller.endReason(of: number)
        return .disconnected(peer, error, status: status, isFollowed: controller.hasSocket) {
            AdapterPresence(of: controller.index, on: controller.kernel)
        }
    }
}

// What the controller tells of links: why they ended, what they run with, and what can be asked about them.
//
// Disconnection Complete comes to everybody; LE events, and commands other than Read RSSI, need CAP_NET_RAW. The socket
// is open as long as there is a link or one is being made; while nothing happens on the air it tells nothing.
extension Controller {
    // MARK: Links of ours

    /// To be called before connections are made or accepted, so that their events are not missed; ``connectingEnded()``
    /// follows.
    func connectingBegins() {
        links.connecting += 1
        followLinks()
    }

    /// Whether the kernel is powering the adapter off, as far as its commands tell.
    var isPoweringOff: Bool {
        receiveWaiting()
        return scanner.hold == .leaving
    }

    /// Has the events of links told from now on.
    func followLinks() {
        // Without it the link is as good, but less is known of it.
        do throws(BluetoothError) {
            try open(.init("follow links", adapter: name))
        } catch {
            log.debug("\(error)")
        }
    }

    /// The connection has been made, or has not.
    func connectingEnded() {
        links.connecting -= 1
        linksChanged()
    }

    /// Begins to follow a link of ours that has just come up; `onEncrypted` is told on the loop when it is encrypted.
    func attach(_ handle: UInt16, onEncrypted: (() -> Void)? = nil) -> LinkAttachment {
        receiveWaiting()
        return LinkAttachment(self, links.add(ConnectionHandle(rawValue: handle), onEncrypted: onEncrypted))
    }

    /// The connection's interest in its link has ended.
    fileprivate func detach(_ number: UInt64) {
        guard let entry = links.remove(number) else { return }
        entry.watch?.end(BluetoothError(.disconnected, .init("use the link", adapter: name), "The link has ended."))
        linksChanged()
    }

    /// Ends what waits for the link, for this reason.
    func linkEnded(_ number: UInt64, _ reason: BluetoothError) {
        links[number]?.watch?.end(reason)
        links[number]?.watch = nil
    }

    private func linksChanged() {
        if links.isIdle {
            links.forgetOthers()
            closeIfIdle()
        }
    }

    /// Why the controller says that a link ended.
    ///
    /// The kernel hands every event to raw sockets before it acts on it, so that when the link's socket ends the reason
    /// is here already, though perhaps not received. Nil when the kernel has acted by itself: powering the adapter off it
    /// ends the links as soon as the controller has taken its command.
    fileprivate func endReason(of number: UInt64) -> HCIStatus? {
        if links[number]?.endReason == nil { receiveWaiting() }
        return links[number]?.endReason
    }

    // MARK: Events

    /// Takes what happened to a link.
    func receive(_ event: LEConnectionUpdateComplete) {
        links.updated(event)
        guard let number = links.number(of: event.handle), let watch = links[number]?.watch else { return }
        let change = LinkChange.parameters(ConnectionParameters(event.parameters))
        watch.resolve(result(change, event.status)) { procedure in
            guard case .parameters(let wanted) = procedure else { return false }
            // Another change, such as the peer's, may come between.
            return !event.status.isSuccess || wanted.includes(event.parameters)
        }
        guard event.status.isSuccess else { return }
        watch.tell(change)
        guard watch.insistence?.shallAsk(for: event.parameters, at: loop.now) == true, let insistence = watch.insistence
        else { return }
        log.debug("asks for its own parameters again", metadata: ["handle": "\(event.handle)"])
        send(.leConnectionUpdate(event.handle, insistence.range, LEConnectionEventLength())) { _ in }
    }

    /// Takes what happened to a link.
    func receive(_ event: LEPHYUpdate) {
        guard let number = links.number(of: event.handle), let watch = links[number]?.watch else { return }
        let change = LinkChange.phys(LinkPHYs(event))
        watch.resolve(result(change, event.status)) { $0 == .phys }
        if event.status.isSuccess { watch.tell(change) }
    }

    /// What a procedure has come to, for whoever waits for it.
    private func result(_ change: LinkChange, _ status: HCIStatus) -> Result<LinkChange, BluetoothError> {
        status.isSuccess ? .success(change) : .failure(.linkProcedure(.init("change the link"), status))
    }

    /// Takes what happened to a link.
    func receive(_ event: LEDataLengthChange) {
        guard let number = links.number(of: event.handle) else { return }
        links[number]?.dataLength = event
        links[number]?.watch?.tell(.dataLength(LinkDataLength(event)))
    }

    // MARK: Questions

    func parameters(of number: UInt64) -> LEActiveConnectionParameters? { links[number]?.parameters }
    func dataLength(of number: UInt64) -> LEDataLengthChange? { links[number]?.dataLength }

    /// Sends a command about a link and returns the answer.
    nonisolated(nonsending) func ask(
        _ number: UInt64, _ operation: BluetoothError.Operation, timeout: Duration?,
        _ command: (ConnectionHandle) -> HCICommand
    ) async throws(BluetoothError) -> HCIReturnParameters {
        let call = Promise<HCIReturnParameters, BluetoothError>()
        send(command(try handle(of: number, operation))) { answer in
            call.resolve(answer.mapError { $0.about(operation) })
        }
        return try await call.value(operation, timeout: timeout, on: loop)
    }

    /// Sends a command that is done when an event says so, and returns what the event tells.
    nonisolated(nonsending) func change(
        _ number: UInt64, _ operation: BluetoothError.Operation, timeout: Duration?, _ procedure: LinkWatch.Procedure,
        _ command: (ConnectionHandle) -> HCICommand
    ) async throws(BluetoothError) -> LinkChange {
        let command = command(try handle(of: number, operation))
        let call = watch(of: number)?.waiter(for: procedure) ?? Promise()
        send(command) { answer in
            if case .failure(let error) = answer { call.fail(error.about(operation)) }
        }
        do {
            return try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            throw error.during(operation)
        }
    }

    /// What happens to a link from now on; `connection` is kept until the stream ends.
    func changes(
        of number: UInt64, _ operation: BluetoothError.Operation, capacity: Int, keeping connection: Connection?
    ) throws(BluetoothError) -> BoundedStream<LinkChange> {
        _ = try handle(of: number, operation)
        guard let watch = watch(of: number) else { throw .linkProcedure(operation, .unknownConnectionIdentifier) }
        return watch.changes.stream(
            capacity: capacity, policy: .dropOldest, operation, from: loop, keeping: connection)
    }

    /// Keeps a link at these parameters from now on, or leaves it to its peer.
    func insist(
        _ number: UInt64, on range: LEConnectionParameters?, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        _ = try handle(of: number, operation)
        watch(of: number)?.insistence = range.map { ParameterInsistence($0) }
    }

    private func watch(of number: UInt64) -> LinkWatch? {
        if links[number]?.watch == nil { links[number]?.watch = LinkWatch() }
        return links[number]?.watch
    }

    private func handle(
        of number: UInt64, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> ConnectionHandle {
        if let closeReason { throw closeReason.about(operation) }
        guard let entry = links[number], entry.endReason == nil else {
            throw BluetoothError(.disconnected, operation, "The link has ended.", isRetryable: true)
        }
        return entry.handle
    }
}
