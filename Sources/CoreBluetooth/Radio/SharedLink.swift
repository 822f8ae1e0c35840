import BluetoothSockets
import BluetoothLE
import BluetoothLoop

/// The link to a device, which all managers of the program share: it is made when the first wants it, and ends when the
/// last has let it go.
///
/// One of the radio's components; ``Radio`` alone begins tasks for it.
final class SharedLink {
    typealias ID = UInt64
    /// Takes what the device tells.
    typealias NewsHandler = @Sendable (News) -> Void

    /// What a device tells by itself.
    enum News: Sendable {
        case value([UInt8], of: AttributeHandle)
        case servicesChanged(AttributeHandleRange)
    }

    /// Takes the value that was read, nothing where one was written, or why neither was.
    typealias Answer = @Sendable (Result<[UInt8], BluetoothError>) -> Void
    /// Values, and the descriptors that ask the device for them.
    typealias Wanted = [AttributeHandle: RemoteDescriptor]
    typealias Call = Promise<Connection, BluetoothError>

    private struct Holder {
        let takeNews: NewsHandler
        /// Resolved when the link is up, or will not be.
        let call: Call
        /// What it wants to be told.
        var wanted: Wanted = [:]
    }

    /// A request that is under way.
    private struct Asked {
        let answer: Answer
        /// Resolved when it is on its way, or has ended.
        let hasBegun: Promise<Void, Never>
    }

    private enum State {
        /// Being made by a task, as soon as somebody holds it.
        case opening(Task<Void, Never>?)
        /// - Parameter isOurs: whether the link ends with its last holder; not so when it was the device that made it.
        case up(Connection, isOurs: Bool)
        /// Nobody can join any more.
        case over
    }

    let id: ID
    let address: BluetoothAddress
    /// Takes back what holders that have gone had asked the device for.
    var silencing: Task<Void, Never>?
    private let mark: ComponentCount.Mark
    private var state = State.opening(nil)
    private var holders: [ObjectIdentifier: Holder] = [:]
    private var asked: [LinkRequest.ID: Asked] = [:]
    private var lastRequest: LinkRequest.ID = 0

    init(_ id: ID, to address: BluetoothAddress, _ components: ComponentCount) {
        self.id = id
        self.address = address
        mark = components.mark()
    }

    /// Whether another may join: it is up, or being made.
    nonisolated(nonsending) var isOpen: Bool {
        get async {
            switch state {
            case .opening: true
            case .up(let connection, _): await connection.isConnected
            case .over: false
            }
        }
    }

    /// Whether it leads to `peer`, and was made here.
    nonisolated(nonsending) func isOurs(_ peer: BluetoothAddress) async -> Bool {
        guard case .up(let connection, isOurs: true) = state else { return false }
        if address == peer { return true }
        return await connection.identity == peer
    }

    // MARK: Holding

    /// Takes another holder; the answer is the link, once it is up.
    /// - Parameters:
    ///   - takeNews: told what the device tells, on the loop and in its order.
    ///   - begin: begins to make the link; called for the first.
    func join(
        _ id: ObjectIdentifier, takeNews: @escaping NewsHandler, begin: () -> Task<Void, Never>
    ) -> Call {
        let call = Call()
        holders[id] = Holder(takeNews: takeNews, call: call)
        switch state {
        case .up(let connection, _): call.succeed(connection)
        case .opening(nil): state = .opening(begin())
        case .opening, .over: break
        }
        return call
    }

    /// Lets a holder go; the link ends when nobody else holds it, unless the device has made it.
    /// - Returns: what the device is to be asked for no more, and over which connection.
    nonisolated(nonsending) func leave(_ id: ObjectIdentifier) async -> (Connection, Wanted)? {
        guard let holder = holders.removeValue(forKey: id) else { return nil }
        let last = state
        if holders.isEmpty { state = .over }
        switch last {
        case .opening(let attempt):
            if holders.isEmpty { attempt?.cancel() }
        case .up(let connection, let isOurs):
            if holders.isEmpty {
                if isOurs {
                    await connection.disconnect()
                    return nil
                }
                connection.sendEvents(to: nil)
            }
            let unwanted = holder.wanted.filter { !isWanted($0.key) }
            return unwanted.isEmpty ? nil : (connection, unwanted)
        case .over: break
        }
        return nil
    }

    /// Whether anybody holds it.
    var isHeld: Bool { !holders.isEmpty }

    // MARK: Up and down

    /// Takes the link that was made; false when nobody wants it any more.
    func take(_ connection: Connection) -> Bool {
        guard case .opening = state else { return false }
        up(connection, isOurs: true)
        for holder in holders.values { holder.call.succeed(connection) }
        return true
    }

    /// Takes a link that is up already, made by the device.
    func adopt(_ connection: Connection) { up(connection, isOurs: false) }

    private func up(_ connection: Connection, isOurs: Bool) {
        state = .up(connection, isOurs: isOurs)
        connection.sendEvents(to: self)
    }

    /// The link could not be made.
    func fail(_ error: BluetoothError) {
        state = .over
        for holder in holders.values { holder.call.fail(error) }
    }

    // MARK: Requests

    /// Takes note of a request that is about to be made; returns what it is called.
    func willAsk(_ hasBegun: Promise<Void, Never>, _ answer: @escaping Answer) -> LinkRequest.ID {
        lastRequest += 1
        asked[lastRequest] = Asked(answer: answer, hasBegun: hasBegun)
        return lastRequest
    }

    private func ended(_ id: LinkRequest.ID, _ outcome: Result<[UInt8], BluetoothError>) {
        guard let request = asked.removeValue(forKey: id) else { return }
        request.answer(outcome)
        request.hasBegun.succeed()
    }

    // MARK: Values

    /// Takes note that a holder wants to be told a value.
    func want(_ handle: AttributeHandle, by descriptor: RemoteDescriptor, _ id: ObjectIdentifier) {
        holders[id]?.wanted[handle] = descriptor
    }

    /// Takes note that a holder does not want to be told a value any more.
    func unwant(_ handle: AttributeHandle, _ id: ObjectIdentifier) {
        holders[id]?.wanted[handle] = nil
    }

    /// Whether a holder wants to be told a value.
    func isWanted(_ handle: AttributeHandle) -> Bool {
        holders.values.contains { $0.wanted[handle] != nil }
    }
}

extension SharedLink: LinkEventReceiver {
    func receive(_ event: LinkEvent) {
        switch event {
        case .value(let value, let handle):
            for holder in holders.values { holder.takeNews(.value(value, of: handle)) }
        case .servicesChanged(let range):
            for holder in holders.values { holder.takeNews(.servicesChanged(range)) }
        case .began(let id): asked[id]?.hasBegun.succeed()
        case .answered(let id, let value): ended(id, .success(value))
        case .failed(let id, let error): ended(id, .failure(error))
        }
    }
}

/// A holder's place at a shared link.
struct LinkHold: Sendable {
    let link: SharedLink.ID
    let holder: ObjectIdentifier
    let connection: Connection
}

/// The shared links of a radio.
final class LinkTable {
    private let components: ComponentCount
    private var links: [SharedLink.ID: SharedLink] = [:]
    /// The last one that was made to each device; those before it have ended.
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

    /// Makes the link to a device, in place of one that has ended.
    func add(to address: BluetoothAddress) -> SharedLink {
        lastID += 1
        let link = SharedLink(lastID, to: address, components)
        links[lastID] = link
        latest[address] = lastID
        return link
    }

    /// Forgets a link; says whether there is none to its device now.
    func remove(_ link: SharedLink) -> Bool {
        links[link.id] = nil
        guard latest[link.address] == link.id else { return false }
        latest[link.address] = nil
        return true
    }
}
