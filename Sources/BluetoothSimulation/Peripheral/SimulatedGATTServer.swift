import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Synchronization

/// The GATT server of a simulated peripheral, with the handlers of its program.
///
/// The protocol is that of the bearer core in `GATT`, which real bearers of this package use as well; this type adds
/// only the program's answers. Values stored in the database need no program at all.
///
/// ```swift
/// let server = try SimulatedGATTServer([GATTService("180F", characteristics: […])])
/// server.onWrite { request in … ; return .accept }
/// let peripheral = SimulatedPeripheral(on: radio, gatt: server)
/// try await server.notify([77], of: level)
/// ```
///
/// All handlers run on the radio's loop; all methods may be called from any thread.
public final class SimulatedGATTServer: Sendable {
    /// The answer to a read request.
    public enum ReadAnswer: Hashable, Sendable {
        /// The whole value, after a time on the radio's clock.
        case value([UInt8], after: Duration = .zero)
        /// An error.
        case refuse(ATTErrorCode)
        /// No response: the client's transaction times out after 30 s.
        case silence
    }

    /// The answer to a write request.
    public enum WriteAnswer: Hashable, Sendable {
        /// Success.
        case accept
        /// An error.
        case refuse(ATTErrorCode)
        /// No response: the client's transaction times out after 30 s.
        case silence
    }

    struct Program: Sendable {
        var read: (@Sendable (AttributeHandle, SimulatedLink) -> ReadAnswer)?
        var write: (@Sendable ([AttributeWrite], SimulatedLink) -> WriteAnswer)?
        var subscribe: (@Sendable (AttributeHandle, ClientCharacteristicConfiguration, SimulatedLink) -> Void)?
    }

    /// A link and its core, used under the lock of ``state``.
    final class Session {
        let link: SimulatedLink
        var core: ATTBearerCore
        /// The callers that wait for room.
        var roomWaiters: [CheckedContinuation<Void, Never>] = []

        init(_ link: SimulatedLink, _ server: GATTServer) {
            self.link = link
            core = ATTBearerCore(server: server)
        }

        /// Sends a PDU of the core.
        func send(_ pdu: [UInt8]) {
            if link.send(pdu) == .sent {
                core.didSend()
            } else {
                core.channelIsFull()
                link.notifyWhenWritable()
            }
        }

        /// Sends one notification of the first of `values`; returns how many of them it contains.
        func notify(
            _ values: ArraySlice<(characteristic: AttributeHandle, value: [UInt8])>,
            _ database: borrowing AttributeDatabase, _ writer: inout ByteWriter
        ) -> (outcome: SendOutcome, taken: Int) {
            // Queued PDUs go first.
            guard core.isIdle else { return (.wouldBlock, 0) }
            do throws(GATTServerError) {
                let taken = try core.server.encodeNotification(of: values, database: database, into: &writer)
                return (link.send(writer.bytes), taken)
            } catch {
                return (.failed(KernelError("send", .notPermitted)), 0)
            }
        }
    }

    struct State: ~Copyable {
        var database: AttributeDatabase
        var writer = ByteWriter(capacity: 517)
        var sessions: [Int: Session] = [:]
        /// The subscriptions of bonded clients, stored from link to link.
        var configurations: [BluetoothAddress: [AttributeHandle: ClientCharacteristicConfiguration]] = [:]
        var program = Program()
    }

    let state: Mutex<State>
    let limits: GATTServer.Limits

    /// Creates a server of these services.
    ///
    /// Throws when they are not a valid database.
    public convenience init(_ services: [GATTService]) throws(AttributeDatabaseError) {
        try self.init(services, limits: GATTServer.Limits())
    }

    /// Creates a server of these services with limits of its own.
    package convenience init(_ services: [GATTService], limits: GATTServer.Limits) throws(AttributeDatabaseError) {
        self.init(try AttributeDatabase(services), limits: limits)
    }

    /// Creates a server of a database.
    package init(_ database: AttributeDatabase, limits: GATTServer.Limits) {
        self.limits = limits
        state = Mutex(State(database: database))
    }

    // MARK: Handlers

    /// Sets the handler of reads of dynamic values; without it they are refused with Read Not Permitted.
    public func onRead(_ body: @escaping @Sendable (AttributeHandle, SimulatedLink) -> ReadAnswer) {
        changeProgram { $0.read = body }
    }

    /// Sets the handler of writes of dynamic values; without it they are accepted and discarded.
    ///
    /// Write Commands, which have no response, are passed to it too.
    public func onWrite(_ body: @escaping @Sendable ([AttributeWrite], SimulatedLink) -> WriteAnswer) {
        changeProgram { $0.write = body }
    }

    /// Sets the handler of subscriptions, called with the handle of the value.
    public func onSubscription(
        _ body: @escaping @Sendable (AttributeHandle, ClientCharacteristicConfiguration, SimulatedLink) -> Void
    ) {
        changeProgram { $0.subscribe = body }
    }

    private func changeProgram(_ change: @Sendable (inout Program) -> Void) {
        let previous = state.withLock { state in
            defer { change(&state.program) }
            return state.program
        }
        // The previous handler is released outside the lock.
        withExtendedLifetime(previous) {}
    }

    // MARK: Values

    /// The current attributes.
    public var database: AttributeDatabase { state.withLock { $0.database } }

    /// The handle of a characteristic's value.
    public func handle(of characteristic: BluetoothUUID, in service: BluetoothUUID) -> AttributeHandle? {
        state.withLock { $0.database.valueHandle(of: characteristic, in: service) }
    }

    /// A value stored in the database; nil for dynamic ones.
    public func value(of handle: AttributeHandle) -> [UInt8]? {
        state.withLock { $0.database.attribute(at: handle)?.storedValue }
    }

    /// Changes a value stored in the database, without notifying clients.
    public func setValue(_ value: [UInt8], of handle: AttributeHandle) throws(AttributeDatabaseError) {
        try state.withLock { state throws(AttributeDatabaseError) in try state.database.setValue(value, of: handle) }
    }

    /// The links whose clients have subscribed to a value in this way.
    public func subscribers(
        of handle: AttributeHandle, as kind: ClientCharacteristicConfiguration = .notification
    ) -> [SimulatedLink] {
        state.withLock { state in
            state.sessions.sorted { $0.key < $1.key }.map(\.value)
                .filter { $0.core.server.configurations[handle]?.contains(kind) == true }.map(\.link)
        }
    }

    // MARK: Notifications and indications

    /// Notifies all subscribed clients, as far as their links have room now.
    ///
    /// - Returns: the number of clients notified.
    @discardableResult
    public func notifyAtOnce(_ value: [UInt8], of handle: AttributeHandle) -> Int {
        subscribers(of: handle).count { send([(handle, value)], to: $0).outcome == .sent }
    }

    /// Notifies all subscribed clients, waiting for room on each link.
    ///
    /// - Returns: the number of clients.
    @discardableResult
    public nonisolated(nonsending) func notify(_ value: [UInt8], of handle: AttributeHandle) async -> Int {
        var count = 0
        for link in subscribers(of: handle) where await notify([(handle, value)], to: link) > 0 { count += 1 }
        return count
    }

    /// Notifies all clients of those of several values that they have subscribed to, in as few packets as each client
    /// supports, waiting for room on each link.
    ///
    /// - Returns: the number of packets.
    @discardableResult
    public nonisolated(nonsending) func notify(_ values: [(characteristic: AttributeHandle, value: [UInt8])]) async
        -> Int
    {
        var count = 0
        for link in state.withLock({ $0.sessions.sorted { $0.key < $1.key }.map(\.value.link) }) {
            let subscribed = values.filter {
                subscribers(of: $0.characteristic).contains { $0.identifier == link.identifier }
            }
            count += await notify(subscribed[...], to: link)
        }
        return count
    }

    /// Notifies one client of values, if it has subscribed, waiting for room; returns the number of packets.
    @discardableResult
    func notify(
        _ values: ArraySlice<(characteristic: AttributeHandle, value: [UInt8])>, to link: SimulatedLink
    ) async -> Int {
        var (rest, count) = (values, 0)
        while !rest.isEmpty {
            let (outcome, taken) = send(rest, to: link)
            switch outcome {
            case .sent: (rest, count) = (rest.dropFirst(taken), count + 1)
            case .wouldBlock: await room(on: link)
            case .failed: return count
            }
        }
        return count
    }

    /// Indicates a value to all subscribed clients, one after the other, and waits for their confirmations.
    ///
    /// - Returns: the number of confirmations.
    @discardableResult
    public nonisolated(nonsending) func indicate(_ value: [UInt8], of handle: AttributeHandle) async -> Int {
        var count = 0
        for link in subscribers(of: handle, as: .indication) where await indicate(value, of: handle, to: link) {
            count += 1
        }
        return count
    }

    /// The ATT_MTU of a link; nil once it has ended.
    package func mtu(of link: SimulatedLink) -> Int? { state.withLock { $0.sessions[link.identifier]?.core.mtu } }

    /// Notifies one client of the first of some values, if its link has room now; returns how many the packet contains.
    package func send(
        _ values: ArraySlice<(characteristic: AttributeHandle, value: [UInt8])>, to link: SimulatedLink
    ) -> (outcome: SendOutcome, taken: Int) {
        state.withLock { $0.sessions[link.identifier]?.notify(values, $0.database, &$0.writer) }
            ?? (.failed(KernelError("send", .notConnected)), 0)
    }

    /// Waits until the link has room, or has ended.
    private func room(on link: SimulatedLink) async {
        await withCheckedContinuation { continuation in
            let isWaiting = state.withLock { state in
                state.sessions[link.identifier]?.roomWaiters.append(continuation)
                return state.sessions[link.identifier] != nil
            }
            if isWaiting { link.notifyWhenWritable() } else { continuation.resume() }
        }
    }

    private func indicate(_ value: [UInt8], of handle: AttributeHandle, to link: SimulatedLink) async -> Bool {
        await withCheckedContinuation { continuation in
            let hasSession = state.withLock { state in
                state.sessions[link.identifier]?.core.indicate(
                    SimulatedIndication(value, of: handle, continuation))
                return state.sessions[link.identifier] != nil
            }
            if hasSession { flush(link) } else { continuation.resume(returning: false) }
        }
    }
}

/// An indication whose caller waits for the confirmation.
final class SimulatedIndication: ValueUpdate, Sendable {
    let characteristic: AttributeHandle
    let value: [UInt8]
    private let continuation: CheckedContinuation<Bool, Never>

    init(_ value: [UInt8], of characteristic: AttributeHandle, _ continuation: CheckedContinuation<Bool, Never>) {
        self.value = value
        self.characteristic = characteristic
        self.continuation = continuation
    }

    var isAbandoned: Bool { false }

    func end(_ failure: TransactionFailure?) { continuation.resume(returning: failure == nil) }
}
