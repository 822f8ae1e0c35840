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
    /// ``incomingConnections(_:)``. Services published before keep their handles. Devices that have subscribed to
    /// Service Changed receive an indication, and requests of devices with robust caching that rely on the old database
    /// are refused (Core Vol 3 Part G §2.5.2.1, §7.1).
    /// - Parameters:
    ///   - services: the services, in the order of their handles. They can include services published before.
    ///   - authorizing: the handler for attributes with `AttributePermissions.readAuthorized` or
    ///     `AttributePermissions.writeAuthorized`. It runs once the link has the security that the access requires.
    ///     Without it, when it throws, and when it does not answer within 25 s, the client receives Insufficient
    ///     Authorization.
    /// - Throws: `.invalidArgument` when the services cannot be laid out, a definition occurs twice, an included
    ///   service is missing, a handler can never run, or a service is one of the generic ones; `.unsupported` for a
    ///   characteristic with the property `authenticatedSignedWrites`, as Signed Write Commands are not accepted.
    ///   Nothing has changed then.
    @discardableResult
    public nonisolated(nonsending) func publish(
        _ services: [LocalService], authorizing: Authorizer? = nil
    ) async throws(BluetoothError) -> PublishedServices {
        try await publish(services, authorizing: authorizing, events: nil)
    }

    /// Publishes services; `events` receives clients' requests in place of handlers.
    @discardableResult
    package nonisolated(nonsending) func publish(
        _ services: [LocalService], authorizing: Authorizer? = nil, events: PeerEventReceiver?
    ) async throws(BluetoothError) -> PublishedServices {
        PublishedServices(try await session.publish(services, authorizing: authorizing, events: events), session)
    }

    /// Publishes services that are written as a list, in which `if` and `for` may be used; see
    /// ``publish(_:authorizing:)``.
    @discardableResult
    public nonisolated(nonsending) func publish(
        authorizing: Authorizer? = nil, @GATTBuilder<LocalService> services: () -> [LocalService]
    ) async throws(BluetoothError) -> PublishedServices {
        try await publish(services(), authorizing: authorizing)
    }

    /// Sets the connection parameters that this program prefers as a peripheral: the characteristic Peripheral Preferred
    /// Connection Parameters of the Generic Access service (0x2A04; Core Vol 3 Part C §12.3).
    ///
    /// Centrals may read it and follow it, and many do not: on a link ``Connection/requestParameters(_:timeout:)`` asks
    /// for parameters, and so does the kernel for its own where the interval is outside their range, see
    /// ``setDefaults(_:)``. The first call adds the characteristic, and must precede ``publish(_:authorizing:)`` and
    /// every link, as handles change; later calls change its value. Needs no privilege.
    /// - Throws: `.invalidArgument` for values outside the specification's ranges or that contradict each other;
    ///   `.busy` if the first call comes too late; `.adapterOff`, `.adapterBlocked`, `.noAdapter`.
    public nonisolated(nonsending) func setPreferredParameters(
        _ parameters: ConnectionParameterRequest
    ) async throws(BluetoothError) {
        try await session.setPreferredParameters(parameters)
    }

    /// Starts advertising; the advertising set is on the air when the call returns.
    ///
    /// The number of concurrent sets is limited by the adapter's advertising instances (management `Read Advertising
    /// Features`). A controller without extended advertising sends one set at a time; the kernel alternates among them
    /// every two seconds. Free instances are used; those of other programs, or left behind by a killed program, remain:
    /// see ``removeForeignAdvertising()``.
    ///
    /// A connection ends the advertising that it was made from. Advertising resumes at once, or when the link has
    /// ended, as `AdvertisingOptions.continuesWhileConnected` says. Each device that connects finds the published
    /// services; for its ``Connection``, use ``incomingConnections(_:)``. While this program connects to a device, the
    /// kernel may pause advertising. If another program removes the advertising set, as BlueZ's daemon does when it
    /// starts, the set ends with `.busy`.
    ///
    /// The kernel supports neither directed advertising nor a choice of channels. Needs CAP_NET_ADMIN.
    /// - Throws: `.invalidArgument` when the content does not fit or the options are outside the specification's
    ///   ranges, `.unsupported` for what the adapter lacks, `.busy` when all its instances are in use, `.notPermitted`,
    ///   `.adapterOff`, `.adapterBlocked`, `.noAdapter`, `.failed` when the controller refuses, `.timedOut`,
    ///   `.cancelled`.
    public nonisolated(nonsending) func advertise(
        _ content: AdvertisementContent, options: AdvertisingOptions = AdvertisingOptions()
    ) async throws(BluetoothError) -> AdvertisingSet {
        let (id, record) = try await session.advertise(content, options: options)
        return AdvertisingSet(id, record, session)
    }

    /// Advertises while `body` runs, and stops however `body` ends: by returning, throwing, or the task's cancellation.
    /// - Throws: what `body` throws, an error that is not of this library as `BluetoothError.underlyingError`, and what
    ///   ``advertise(_:options:)`` throws.
    public nonisolated(nonsending) func withAdvertising<Result: Sendable>(
        _ content: AdvertisementContent, options: AdvertisingOptions = AdvertisingOptions(),
        _ body: @Sendable (AdvertisingSet) async throws -> Result
    ) async throws(BluetoothError) -> Result {
        let set = try await advertise(content, options: options)
        do {
            let result = try await body(set)
            await set.close()
            return result
        } catch {
            await set.close()
            throw BluetoothError(error, session.operation("advertise"))
        }
    }

    /// Removes every advertising instance that no running program of this library has, and returns their number.
    ///
    /// The kernel continues the advertising of a killed program until it is removed or the machine restarts. That of other
    /// software, such as BlueZ's daemon, cannot be told from it and is removed as well. Needs CAP_NET_ADMIN.
    /// - Throws: `.notPermitted`, `.adapterOff`, `.adapterBlocked`, `.noAdapter`, `.timedOut`, `.cancelled`.
    @discardableResult
    public nonisolated(nonsending) func removeForeignAdvertising() async throws(BluetoothError) -> Int {
        try await session.removeForeignAdvertising()
    }

    /// Accepts incoming connections: links that centrals make to this machine, those that are up already included.
    ///
    /// Published services are served on every incoming connection, whether or not this is called: an adapter listens
    /// while services are published or it advertises as connectable. Up to 32 connections that the program does not
    /// accept stay up until their peers end them or the adapter is closed; further ones are closed at once. An adapter
    /// that only advertises, without services, leaves the links to another program of this library that listens.
    ///
    /// Each is a ``Connection`` like an outgoing one, in the peripheral role: the peer finds what
    /// ``publish(_:authorizing:)`` publishes, and the peer's own attributes can be discovered, read and subscribed to.
    /// Centrals can connect only while the adapter advertises: ``advertise(_:options:)``. Needs no privilege.
    ///
    /// Several programs can listen; the kernel assigns each link to the one that began last. A program that begins
    /// later, such as BlueZ's daemon, receives all further links. Beside another program of this library the log says so.
    /// - Throws: `.busy` when this adapter's incoming connections are being accepted already, `.adapterOff`,
    ///   `.adapterBlocked`, `.noAdapter`; with ``IncomingConnectionOptions/enhancedBearers`` also `.notPermitted` and
    ///   `.unsupported`.
    public nonisolated(nonsending) func incomingConnections(
        _ options: IncomingConnectionOptions = IncomingConnectionOptions()
    ) async throws(BluetoothError) -> IncomingConnections {
        IncomingConnections(try await session.incomingConnections(options), of: session)
    }

    /// Listens for connection-oriented channels to a service; peers can open them when the call returns.
    ///
    /// Channels can be opened on incoming and outgoing links alike. Needs no privilege, except CAP_NET_BIND_SERVICE for
    /// a PSM below 0x0080.
    /// - Parameters:
    ///   - psm: the service's PSM, 0x0001 to 0x00FF; for 0 the kernel assigns one, which ``ChannelListener/psm``
    ///     returns.
    ///   - backlog: the maximum number of channels that wait for the loop; further ones are closed at once, and
    ///     counted.
    ///   - options: the options of the channels. With `ChannelOptions.security` the kernel refuses peers on links
    ///     with less security, after which most of them pair and try again.
    /// - Throws: `.notPermitted`, `.busy` when another program listens on the same PSM, `.invalidArgument`,
    ///   `.unsupported` when the kernel lacks the enhanced mode, `.adapterOff`, `.noAdapter`.
    public nonisolated(nonsending) func listen(
        psm: UInt16 = 0, backlog: Int = 16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ChannelListener {
        let (listener, psm) = try await session.listen(psm: psm, backlog: backlog, options: options)
        return ChannelListener(listener, psm: psm)
    }
}
