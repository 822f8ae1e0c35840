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
}

/// The outcome of sending a value to a device.
public struct ValueDelivery: Sendable {
    /// The link to the device.
    public let connection: Connection
    /// Success if the host has the notification or the device has confirmed the indication; otherwise the error.
    public let result: Result<Void, BluetoothError>
}

extension AdapterSession {
    /// Sends a value to every subscriber once: of both kinds, an indication to those that have asked for indications.
    func broadcast(
        _ value: [UInt8], of characteristic: AttributeHandle, as kinds: ClientCharacteristicConfiguration,
        timeout: Duration?
    ) async -> [ValueDelivery] {
        typealias Sent = (
            connection: Connection, kind: ClientCharacteristicConfiguration, call: Promise<Void, BluetoothError>
        )
        // All values are sent before the first outcome is awaited.
        let sent: [Sent] = links.all.compactMap { link in
            guard let connection = link.connection else { return nil }
            var kind = kinds
            if kinds == [.notification, .indication] {
                let isIndicated = link.peerConfiguration(of: characteristic).contains(.indication)
                kind = isIndicated ? .indication : .notification
            }
            return link.beginSending(value, of: characteristic, as: kind).map { (connection, kind, $0) }
        }
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        // Links on trial come last, so that they have the time that the others take anyway.
        let trusted = sent.indices.filter { !sent[$0].connection.core.value.patience.isOnTrial }
        let onTrial = sent.indices.filter { sent[$0].connection.core.value.patience.isOnTrial }
        var failures = [BluetoothError?](repeating: nil, count: sent.count)
        // One wait for all that are on trial, which begins when the others have taken the value.
        var trialEnd: KernelInstant?
        for index in trusted + onTrial {
            let (connection, kind, call) = sent[index]
            let link = connection.core.value
            let isSpared = kind == .notification && !trusted.isEmpty && link.patience.isOnTrial
            // A completed call needs no timer.
            var remaining = call.isResolved ? nil : deadline.map { max(loop.now.duration(to: $0), .zero) }
            if isSpared, !call.isResolved {
                let end = trialEnd ?? loop.now.advanced(by: LinkPatience.trialWait)
                trialEnd = end
                let rest = max(loop.now.duration(to: end), .zero)
                remaining = min(remaining ?? rest, rest)
            }
            let operation = BluetoothError.Operation(sending: kind, to: connection.peer, of: characteristic)
            do throws(BluetoothError) {
                try await call.value(operation, timeout: remaining, on: loop)
            } catch {
                failures[index] = error
            }
            link.recordDelivery(failures[index], isSpared: isSpared)
            if isSpared, failures[index]?.code == .timedOut { failures[index] = .linkIsBehind(operation) }
        }
        return zip(sent, failures).map { sent, failure in
            ValueDelivery(connection: sent.connection, result: failure.map { .failure($0) } ?? .success(()))
        }
    }
}
