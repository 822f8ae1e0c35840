import BluetoothSockets
import BluetoothLE
import BluetoothLoop

/// The link to a device, which all managers of the program share: it is created for the first holder, and ends when the
/// last has released it.
///
/// One of the radio's components; only ``Radio`` starts tasks for it.
final class SharedLink {
    typealias ID = UInt64
    /// A handler of the device's own events, or of those of one request.
    typealias EventHandler = @Sendable (LinkEvent) -> Void
    /// Subscribed values, and the descriptors that configure them at the device.
    typealias Subscriptions = [AttributeHandle: RemoteDescriptor]
    typealias Call = Promise<Connection, BluetoothError>

    private struct Holder {
        let onEvent: EventHandler
        /// Resolved when the link is up, or has failed.
        let call: Call
        /// Its subscriptions.
        var subscriptions: Subscriptions = [:]
    }

    private enum State {
        /// Being created by a task, from the first holder on.
        case opening(Task<Void, Never>?)
        /// - Parameter isOurs: whether the link ends with its last holder; false when the device created it.
        case up(Connection, isOurs: Bool)
        /// No further holder can join.
        case over
    }

    let id: ID
    let address: BluetoothAddress
    /// Unsubscribes at the device for released holders.
    var unsubscribing: Task<Void, Never>?
    private let mark: ComponentCount.Mark
    private var state = State.opening(nil)
    private var holders: [ObjectIdentifier: Holder] = [:]
    /// The requests in progress.
    private var asked: [AttributeRequest.ID: EventHandler] = [:]
    private var lastRequest: AttributeRequest.ID = 0

    init(_ id: ID, to address: BluetoothAddress, _ components: ComponentCount) {
        self.id = id
        self.address = address
        mark = components.mark()
    }

    /// Whether another holder may join: it is up, or being created.
    nonisolated(nonsending) var isOpen: Bool {
        get async {
            switch state {
            case .opening: true
            case .up(let connection, _): await connection.isConnected
            case .over: false
            }
        }
    }

    /// Whether it leads to `peer`, and was created from here.
    nonisolated(nonsending) func isOurs(_ peer: BluetoothAddress) async -> Bool {
        guard case .up(let connection, isOurs: true) = state else { return false }
        if address == peer { return true }
        return await connection.identity == peer
    }

    // MARK: Holding

    /// Adds a holder; resolves with the link, once it is up.
    /// - Parameters:
    ///   - onEvent: receives the device's events, on the loop and in the order received.
    ///   - begin: starts to create the link; called for the first holder.
    func join(
        _ id: ObjectIdentifier, onEvent: @escaping EventHandler, begin: () -> Task<Void, Never>
    ) -> Call {
        let call = Call()
        holders[id] = Holder(onEvent: onEvent, call: call)
        switch state {
        case .up(let connection, _): call.succeed(connection)
        case .opening(nil): state = .opening(begin())
        case .opening, .over: break
        }
        return call
    }

    /// Removes a holder; the link ends when there is no other, unless the device has created it.
    /// - Returns: the subscriptions to cancel, and the connection for that.
    nonisolated(nonsending) func release(_ id: ObjectIdentifier) async -> (Connection, Subscriptions)? {
        guard let holder = holders.removeValue(forKey: id) else { return nil }
        let last = state
        if holders.isEmpty { state = .over }
        switch last {
        case .opening(let attempt):
            if holders.isEmpty { attempt?.cancel() }
        case .up(let connection, let isOurs):
            if holders.isEmpty {
                if isOurs {
                    await connection.disconnect(timeout: .zero)
                    return nil
                }
                connection.sendEvents(to: nil)
            }
            let obsolete = holder.subscriptions.filter { !hasSubscription($0.key) }
            return obsolete.isEmpty ? nil : (connection, obsolete)
        case .over: break
        }
        return nil
    }

    /// Whether it has a holder.
    var isHeld: Bool { !holders.isEmpty }

    // MARK: Up and down

    /// Records the created link; false when it no longer has a holder.
    func didConnect(_ connection: Connection) -> Bool {
        guard case .opening = state else { return false }
        up(connection, isOurs: true)
        for holder in holders.values { holder.call.succeed(connection) }
        return true
    }

    /// Adopts a link that is up already, created by the device.
    func adopt(_ connection: Connection) { up(connection, isOurs: false) }

    private func up(_ connection: Connection, isOurs: Bool) {
        state = .up(connection, isOurs: isOurs)
        connection.sendEvents(to: self)
    }

    /// Records that the link could not be created.
    func fail(_ error: BluetoothError) {
        state = .over
        for holder in holders.values { holder.call.fail(error) }
    }

    // MARK: Requests

    /// Records a request that is about to be sent; returns its identifier.
    func willAsk(_ onEvent: @escaping EventHandler) -> AttributeRequest.ID {
        lastRequest += 1
        asked[lastRequest] = onEvent
        return lastRequest
    }

    // MARK: Values

    /// Adds a holder's subscription to a value.
    func addSubscription(_ handle: AttributeHandle, by descriptor: RemoteDescriptor, _ id: ObjectIdentifier) {
        holders[id]?.subscriptions[handle] = descriptor
    }

    /// Removes a holder's subscription to a value.
    func removeSubscription(_ handle: AttributeHandle, _ id: ObjectIdentifier) {
        holders[id]?.subscriptions[handle] = nil
    }

    /// Whether a holder has a subscription to a value.
    func hasSubscription(_ handle: AttributeHandle) -> Bool {
        holders.values.contains { $0.subscriptions[handle] != nil }
    }
}

extension SharedLink: LinkEventReceiver {
    func receive(_ event: LinkEvent) {
        switch event {
        case .value, .servicesChanged:
            for holder in holders.values { holder.onEvent(event) }
        case .began(let id): asked[id]?(event)
        case .answered(let id, _), .failed(let id, _): asked.removeValue(forKey: id)?(event)
        }
    }
}

/// A holder's membership of a shared link.
struct LinkHold: Sendable {
    let link: SharedLink.ID
    let holder: ObjectIdentifier
    let connection: Connection
}

/// The shared links of a radio.
final class SharedLinks {
    private let components: ComponentCount
    private var links: [SharedLink.ID: SharedLink] = [:]
    /// The last link created to each device; earlier ones have ended.
    private var latest: [BluetoothAddress: SharedLink.ID] = [:]
    private var lastID: SharedLink.ID = 0

    init(_ components: ComponentCount) {
        self.components = components
    }

    subscript(_ id: SharedLink.ID) -> SharedLink? { links[id] }

    /// The link to a device.
    subscript(_ address: BluetoothAddress) -> SharedLink? { latest[address].flatMap { links[$0] } }

    /// The links to all devices.
    var all: [SharedLink] { latest.values.compactMap { links[$0] } }

    /// Creates the link to a device, in place of one that has ended.
    func add(to address: BluetoothAddress) -> SharedLink {
        lastID += 1
        let link = SharedLink(lastID, to: address, components)
        links[lastID] = link
        latest[address] = lastID
        return link
    }

    /// Removes a link; returns whether there is none to its device now.
    func remove(_ link: SharedLink) -> Bool {
        links[link.id] = nil
        guard latest[link.address] == link.id else { return false }
        latest[link.address] = nil
        return true
    }
}
