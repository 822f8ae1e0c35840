import BluetoothAdvertising
import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

extension Adapter {
    /// Publishes services to all devices that are connected through this adapter, now and later, besides the Generic
    /// Access and Generic Attribute services, which are always there.
    ///
    /// Every link is served, including incoming connections that the program does not accept; see
    /// ``incomingConnections(_:)``. Services published before keep their handles. Devices that have subscribed to Service
    /// Changed receive an indication, and requests of devices with robust caching that rely on the old database are
    /// refused (Core Vol 3 Part G §2.5.2.1, §7.1).
    /// - Parameters:
    ///   - services: the services, in the order of their handles. They can include services published before.
    ///   - authorizing: the handler for attributes with ``AttributePermissions/readAuthorized`` or
    ///     ``AttributePermissions/writeAuthorized``. It runs before the link's security is checked. Without it, when it
    ///     throws, and when it does not answer within 25 s, the client receives Insufficient Authorization.
    /// - Throws: `.invalidArgument` when the services cannot be laid out, a definition occurs twice, an included service is
    ///   missing, a handler can never run, or a service is one of the generic ones; `.unsupported` for a characteristic with
    ///   the property `authenticatedSignedWrites`, as Signed Write Commands are not accepted. Nothing has changed then.
    @discardableResult
    public nonisolated(nonsending) func publish(
        _ services: [LocalService], authorizing: Authorizer? = nil
    ) async throws(BluetoothError) -> PublishedServices {
        PublishedServices(
            try await session.publish(services, authorizing: authorizing), session.localServer, session)
    }

    /// Publishes services that are written as a list, in which `if` and `for` may be used; see
    /// ``publish(_:authorizing:)``.
    @discardableResult
    public nonisolated(nonsending) func publish(
        authorizing: Authorizer? = nil, @GATTBuilder<LocalService> services: () -> [LocalService]
    ) async throws(BluetoothError) -> PublishedServices {
        try await publish(services(), authorizing: authorizing)
    }

    /// Publishes services in the attribute server's terms, with one set of handlers.
    @discardableResult
    package nonisolated(nonsending) func publish(
        _ services: [GATTService], handlers: AttributeHandlers = AttributeHandlers()
    ) async throws(BluetoothError) -> PublishedServices {
        PublishedServices(
            try await session.publish(services) { _ in handlers }, session.localServer, session)
    }

    /// Publishes a tree of services in the attribute server's terms.
    @discardableResult
    package nonisolated(nonsending) func publish(
        handlers: AttributeHandlers = AttributeHandlers(), @GATTBuilder<GATTService> services: () -> [GATTService]
    ) async throws(BluetoothError) -> PublishedServices {
        try await publish(services(), handlers: handlers)
    }

    /// Begins to advertise; it is on the air when the call returns.
    ///
    /// Any number may be on at a time, as far as the adapter has instances (management `Read Advertising Features`). A
    /// controller without extended advertising sends one at a time; the kernel gives each of them its turn, two seconds
    /// long. Free instances are chosen; those of other programs, or left behind by one that was killed, stay as they are,
    /// see ``removeForeignAdvertising()``.
    ///
    /// A connection ends the advertising that it was made by. It resumes at once, or when the link has ended, as
    /// ``AdvertisingOptions/continuesWhileConnected`` says. Each device that connects finds the published services; for
    /// its ``Connection``, use ``incomingConnections(_:)``. While this program connects to a device, the kernel may pause
    /// advertising. If another program removes the advertisement, as BlueZ's daemon does when it starts, it ends with
    /// `.busy`.
    ///
    /// Through the kernel there are neither directed advertisements nor a choice of channels. Needs CAP_NET_ADMIN.
    /// - Throws: `.invalidArgument` when there is no room for the content or the options are beyond what the specification
    ///   allows, `.unsupported` for what the adapter cannot do, `.busy` when all its instances are taken, `.notPermitted`,
    ///   `.adapterOff`, `.adapterBlocked`, `.noAdapter`, `.failed` when the controller refuses, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func advertise(
        _ content: AdvertisementContent, options: AdvertisingOptions = AdvertisingOptions()
    ) async throws(BluetoothError) -> AdvertisingSet {
        let (id, record) = try await session.advertise(content, options: options)
        return AdvertisingSet(id, record, session)
    }

    /// Advertises while `body` runs, and stops however `body` ends: by returning, throwing, or the task's cancellation.
    public nonisolated(nonsending) func withAdvertising<Result: Sendable>(
        _ content: AdvertisementContent, options: AdvertisingOptions = AdvertisingOptions(),
        _ body: @Sendable (AdvertisingSet) async throws -> Result
    ) async throws -> Result {
        let set = try await advertise(content, options: options)
        do {
            let result = try await body(set)
            await set.stop()
            return result
        } catch {
            await set.stop()
            throw error
        }
    }

    /// Removes every advertising instance that was not made by this adapter object, and says how many there were.
    ///
    /// The kernel keeps what a program that was killed has advertised, until it is removed or the machine starts again.
    /// What other programs advertise at this moment is removed as well. Needs CAP_NET_ADMIN.
    /// - Throws: `.notPermitted`, `.adapterOff`, `.adapterBlocked`, `.noAdapter`, `.timedOut`, `.cancelled`.
    @discardableResult
    public nonisolated(nonsending) func removeForeignAdvertising() async throws(BluetoothError) -> Int {
        try await session.removeForeignAdvertising()
    }

    /// Accepts incoming connections: links that centrals make to this machine, those that are up already included.
    ///
    /// Published services are served on every incoming connection, whether or not this is called: an adapter listens while
    /// services are published or it advertises as connectable. Up to 32 connections that the program does not accept stay
    /// up until their peers end them or the adapter is closed; further ones are closed at once.
    ///
    /// Each is a ``Connection`` like an outgoing one, in the peripheral role: the peer finds what
    /// ``publish(_:authorizing:)`` publishes, and the peer's own attributes can be discovered, read and subscribed to.
    /// Centrals can connect only while the adapter advertises: ``advertise(_:options:)``. Needs no privilege.
    ///
    /// Any number of programs can listen; the kernel gives each link to the one that began last. A second program that
    /// serves attributes, such as BlueZ's daemon when it is started later, gets all the links from then on.
    /// - Throws: `.busy` when this adapter's incoming connections are being accepted already, `.adapterOff`, `.adapterBlocked`, `.noAdapter`;
    ///   with ``IncomingConnectionOptions/enhancedBearers`` also `.notPermitted` and `.unsupported`.
    public nonisolated(nonsending) func incomingConnections(
        _ options: IncomingConnectionOptions = IncomingConnectionOptions()
    ) async throws(BluetoothError) -> IncomingConnections {
        IncomingConnections(try await session.incomingConnections(options), of: session)
    }

    /// Offers a service by connection-oriented channels; it can be opened when the call returns.
    ///
    /// Peers reach it on links they make to what this machine advertises and on links made from here alike. Needs no
    /// privilege, except CAP_NET_BIND_SERVICE for a PSM below 0x0080.
    /// - Parameters:
    ///   - psm: the service's number, 0x0001 to 0x00FF; with 0 the kernel picks one, which ``ChannelListener/psm`` tells.
    ///   - backlog: how many channels may wait for the loop; what comes beyond is closed again at once, and counted.
    ///   - options: how; with ``ChannelOptions/security`` the kernel refuses peers on links of less protection, which
    ///     has most of them pair and ask again.
    /// - Throws: `.notPermitted`, `.busy` when somebody offers the same PSM, `.invalidArgument`, `.unsupported` when the
    ///   kernel lacks the enhanced mode, `.adapterOff`, `.noAdapter`.
    public nonisolated(nonsending) func listen(
        psm: UInt16 = 0, backlog: Int = 16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ChannelListener {
        let (listener, psm) = try await session.listen(psm: psm, backlog: backlog, options: options)
        return ChannelListener(listener, psm: psm)
    }
}
