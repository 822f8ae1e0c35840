import BluetoothAdvertising
import BluetoothATT
import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

extension AdapterSession {
    /// Publishes services, whose requests `events` receives in place of their handlers.
    func publish(
        _ services: [LocalService], authorizing: Authorizer?, events: PeerEventReceiver?
    ) throws(BluetoothError) -> Publication {
        try checkUsable()
        let operation = operation("publish services")
        let plan = try PublicationPlan(services, operation, published: localServer.handle)
        try checkPublishable(plan.services, operation)
        let publication: Publication?
        do throws(AttributeDatabaseError) {
            publication = try localServer.append(plan.services) { layout in
                Publication(services, at: layout, authorizing: authorizing, events: events, on: loop)
            }
        } catch {
            throw .invalidArgument(operation, "\(error)")
        }
        guard let publication else { throw .invalidArgument(operation, "There are no services to publish.") }
        incoming.offersChanged()
        reportChange(in: publication.handles)
        return publication
    }

    func setPreferredParameters(_ parameters: ConnectionParameterRequest) throws(BluetoothError) {
        let operation = operation("set the preferred connection parameters")
        let value = try parameters.parameters(operation).preferredValue
        try checkUsable()
        guard !localServer.setPreferredParameters(value) else { return }
        let database = AttributeDatabase.generic(deviceName: information.localName, preferredParameters: value)
        // A device that is connected may have read the handles.
        guard links.count == 0, localServer.replaceGenericServices(by: database) else {
            throw BluetoothError(
                .busy, operation, "Services are published or a device is connected, so the handles cannot change.",
                remedy: "Set the preferred parameters first: before services are published and devices are connected.")
        }
    }

    /// Refuses services that the server does not support, and those that a device may have only once (Core Vol 3 Part C
    /// §12, Part G §7).
    private func checkPublishable(
        _ services: [GATTService], _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        if let own = services.first(where: { $0.uuid == .genericAccess || $0.uuid == .genericAttribute }) {
            throw .invalidArgument(operation, "Service \(own.uuid) is always present, and may occur only once.")
        }
        let signed = services.lazy.flatMap(\.characteristics).first {
            $0.properties.contains(.authenticatedSignedWrites)
        }
        guard let signed else { return }
        throw BluetoothError(
            .unsupported, operation,
            "Signed Write Commands are not accepted here, so \(signed.uuid) cannot have the property authenticatedSignedWrites.",
            remedy:
                "Require an encrypted link instead: the property write or writeWithoutResponse with the permission writeEncrypted."
        )
    }

    /// Removes published services.
    func withdraw(_ publication: Publication) {
        if localServer.remove(publication) { reportChange(in: publication.handles) }
        incoming.offersChanged()
    }

    private func reportChange(in range: AttributeHandleRange) {
        let serviceChanged = localServer.serviceChanged
        for link in links.all { link.localServicesChanged(in: range, serviceChanged) }
    }

    func incomingConnections(
        _ options: IncomingConnectionOptions = IncomingConnectionOptions()
    ) throws(BluetoothError) -> AcceptedLinks {
        try checkUsable()
        try options.security.check(operation("accept connections"))
        return try incoming.accept(options, operation("accept connections"))
    }

    func advertise(
        _ content: AdvertisementContent, options: AdvertisingOptions
    ) async throws(BluetoothError) -> (id: UInt64, AdvertisingRecord) {
        try checkUsable()
        let operation = operation("advertise")
        let limits = try await host.advertising.limits(operation)
        // It may have left meanwhile.
        try checkUsable()
        return try await advertising.begin(content, options, within: limits, operation)
    }

    func removeForeignAdvertising() async throws(BluetoothError) -> Int {
        try checkUsable()
        return try await host.advertising.removeForeign()
    }

    func updateAdvertising(
        _ id: UInt64, _ content: AdvertisementContent, _ record: AdvertisingRecord
    ) async throws(BluetoothError) {
        try await advertising.update(id, content, record)
    }

    /// Sends a value to every subscriber once; see ``LinkRegistry/broadcast(_:of:as:timeout:on:)``.
    func broadcast(
        _ value: [UInt8], of characteristic: AttributeHandle, as kinds: ClientCharacteristicConfiguration,
        timeout: Duration?
    ) async -> [ValueDelivery] {
        await links.broadcast(value, of: characteristic, as: kinds, timeout: timeout, on: loop)
    }
}
