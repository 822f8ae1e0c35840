import BluetoothHCI
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// A need for the events of the controller; dropping it ends it.
final class LinkFollowing: Sendable {
    private let links: LoopBound<KernelLinks>
    private let loop: EventLoop

    init(_ links: KernelLinks) {
        loop = links.loop
        self.links = LoopBound(links, on: loop)
    }

    deinit {
        loop.execute { [links] in links.value.endFollowing() }
    }
}

/// A link of this program, as the controller's events report it; dropping it ends that.
//
// Lives on the loop, with its channel.
// Holds more than ten variables: what the events of a link report, and who waits for it.
final class KernelLink: HostLink {
    /// A procedure to wait for.
    private enum Procedure: Hashable {
        case parameters(LEConnectionParameters)
        case phys
    }

    private let mark: ComponentCount.Mark
    private let owner: LoopBound<KernelLinks>
    private let loop: EventLoop
    let handle: ConnectionHandle
    /// The parameters; nil where the controller's events are not available.
    var parameters: ConnectionParameters?
    /// The data length; nil until it is reported.
    private(set) var dataLength: LinkDataLength?
    /// The reason for its end, between Disconnection Complete and the end of its socket.
    var endReason: HCIStatus?
    private var waiters: [Procedure: WaiterList<LinkChange, BluetoothError>] = [:]
    /// The handler of changes.
    private var onChange: ((Result<LinkChange, BluetoothError>) -> Void)?
    /// The parameters to enforce.
    private var enforcer = ParameterEnforcer()

    init(_ handle: ConnectionHandle, of links: KernelLinks) {
        mark = links.loop.components.mark("KernelLink")
        loop = links.loop
        owner = LoopBound(links, on: loop)
        self.handle = handle
    }

    deinit {
        loop.execute { [owner, handle] in owner.value.detach(handle) }
    }

    private var links: KernelLinks { owner.value }

    // MARK: Procedures

    nonisolated(nonsending) func rssi(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> Int? {
        try await ask(HCIReadRSSI(handle), operation, timeout: timeout).power.map { Int($0) }
    }

    nonisolated(nonsending) func transmitPower(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> Int {
        let answer = try await ask(HCIReadTransmitPowerLevel(handle, maximum: false), operation, timeout: timeout)
        guard let power = answer.power else { throw .unreadable(operation) }
        return Int(power)
    }

    nonisolated(nonsending) func phys(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> LinkPHYs {
        LinkPHYs(try await ask(LEReadPHY(handle), operation, timeout: timeout))
    }

    nonisolated(nonsending) func setPHYs(
        _ preference: LEPHYPreference, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> LinkPHYs {
        let change = try await change(.phys, LESetPHY(handle, preference), operation, timeout: timeout)
        guard let phys = change.phys else { throw .unreadable(operation) }
        return phys
    }

    nonisolated(nonsending) func setDataLength(
        octets: UInt16, time: UInt16, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) {
        _ = try await ask(LESetDataLength(handle, octets: octets, time: time), operation, timeout: timeout)
    }

    nonisolated(nonsending) func setParameters(
        _ parameters: LEConnectionParameters, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> ConnectionParameters {
        try keepParameters(parameters, isPolicy: false, operation)
        let command = LEConnectionUpdate(handle, parameters)
        let change = try await change(.parameters(parameters), command, operation, timeout: timeout)
        guard let now = change.parameters else { throw .unreadable(operation) }
        return now
    }

    func keepParameters(
        _ range: LEConnectionParameters?, isPolicy: Bool, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        try checkUp(operation)
        enforcer.keep(range, isPolicy: isPolicy)
    }

    func follow(
        _ operation: BluetoothError.Operation, _ onChange: @escaping (Result<LinkChange, BluetoothError>) -> Void
    ) throws(BluetoothError) {
        try checkUp(operation)
        self.onChange = onChange
    }

    /// Sends a command about the link and returns the answer.
    private nonisolated(nonsending) func ask<Command: HCICommand>(
        _ command: Command, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> Command.Return {
        try checkUp(operation)
        let call = Promise<Command.Return, BluetoothError>()
        links.commands.send(command) { answer in call.resolve(answer.mapError { $0.about(operation) }) }
        return try await call.value(operation, timeout: timeout, on: loop)
    }

    /// Sends a command that an event completes, and returns the event's content.
    private nonisolated(nonsending) func change(
        _ procedure: Procedure, _ command: some HCICommand, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> LinkChange {
        try checkUp(operation)
        waiters = waiters.filter { !$0.value.isEmpty }
        let call = waiters[procedure, default: WaiterList()].makePromise()
        links.commands.send(command) { answer in
            if case .failure(let error) = answer { call.fail(error.about(operation)) }
        }
        do {
            return try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            throw error.during(operation)
        }
    }

    private func checkUp(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        if let end = links.commands.end { throw end.about(operation) }
        guard endReason == nil else {
            throw BluetoothError(.disconnected, operation, "The link has ended.", isRetryable: true)
        }
    }

    // MARK: Events

    /// Receives new parameters, or the failure of their change; returns those to request again.
    func receive(_ event: LEConnectionUpdateComplete) -> LEConnectionParameters? {
        receive(.init(.parameters(ConnectionParameters(event.parameters))), event.status) { procedure in
            guard case .parameters(let wanted) = procedure else { return false }
            // Another change, such as the peer's, may come in between.
            return !event.status.isSuccess || wanted.includes(event.parameters)
        }
        return event.status.isSuccess ? enforcer.request(insteadOf: event.parameters, at: loop.now) : nil
    }

    func receive(_ event: LEPHYUpdate) {
        receive(.init(.phys(LinkPHYs(event.phys))), event.status) { $0 == .phys }
    }

    func receive(_ event: LEDataLengthChange) {
        let length = LinkDataLength(event.length)
        dataLength = length
        onChange?(.success(.init(.dataLength(length))))
    }

    /// Resolves the procedures that a change, or its failure, ends, and reports it to the follower.
    private func receive(_ change: LinkChange, _ status: HCIStatus, ending hasEnded: (Procedure) -> Bool) {
        let result: Result<LinkChange, BluetoothError> =
            status.isSuccess ? .success(change) : .failure(.linkProcedure(.init("change the link"), status))
        for procedure in waiters.keys where hasEnded(procedure) { waiters[procedure]?.resolveAll(result) }
        if status.isSuccess { onChange?(result) }
    }

    // MARK: The end

    /// The reason for the link's end, given that its channel's socket reports `error`.
    ///
    /// The kernel passes every event to raw sockets before it acts on it, so when the link's socket ends the controller's
    /// reason is queued here already, though perhaps not received. There is none when the kernel has ended the link
    /// without an event: when it powers the adapter off, it ends the links as soon as the controller has accepted its
    /// command.
    func reasonOfEnd(_ peer: BluetoothAddress, _ error: KernelError) -> BluetoothError {
        let (commands, kernel) = (links.commands, links.kernel)
        if endReason == nil { commands.receiveWaiting() }
        return .disconnected(peer, error, status: endReason, isFollowed: commands.hasSocket) {
            AdapterPresence(of: commands.index, on: kernel)
        }
    }

    /// Fails the calls that wait for the link, for this reason: no more events will arrive.
    func end(_ reason: BluetoothError) {
        for procedure in waiters.keys { waiters[procedure]?.failAll(reason) }
        onChange?(.failure(reason))
        onChange = nil
    }

    var isFollowed: Bool { links.commands.hasSocket }

    func disconnect() {
        guard endReason == nil else { return }
        links.commands.send(HCIDisconnect(handle, reason: .authenticationFailure)) { _ in }
    }
}
