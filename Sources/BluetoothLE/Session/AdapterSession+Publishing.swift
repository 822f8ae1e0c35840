import ATT
import BluetoothPrimitives
import GATT

extension AdapterSession {
    func publish(
        _ services: [GATTService], handlers: AttributeHandlers = AttributeHandlers()
    ) throws(BluetoothError) -> (AttributeHandleRange, number: UInt64) {
        try checkUsable()
        try checkPublishable(services)
        let failure: AttributeDatabaseError
        do throws(AttributeDatabaseError) {
            let (range, number) = try localServer.append(services, handlers)
            guard let range else { throw AttributeDatabaseError.outOfHandles }
            incoming.offersChanged()
            tellOfChange(in: range)
            return (range, number)
        } catch {
            failure = error
        }
        let message = services.isEmpty ? "There are no services to publish." : "\(failure)"
        throw .invalidArgument(operation("publish services"), message)
    }

    func setAttributeCache(_ cache: (any AttributeCache)?) {
        linkMaker.attributeCache = cache
    }

    /// Refuses what the server cannot keep, and what a device may have only once (Core Vol 3 Part C §12, Part G §7).
    private func checkPublishable(_ services: [GATTService]) throws(BluetoothError) {
        let operation = operation("publish services")
        if let own = services.first(where: { $0.uuid == .genericAccess || $0.uuid == .genericAttribute }) {
            throw .invalidArgument(operation, "Service \(own.uuid) is always there, and may be there only once.")
        }
        let signed = services.lazy.flatMap(\.characteristics).first {
            $0.properties.contains(.authenticatedSignedWrites)
        }
        guard let signed else { return }
        throw BluetoothError(
            .unsupported, operation,
            "Signed Write Commands are not taken here, so \(signed.uuid) cannot have the property authenticatedSignedWrites.",
            remedy:
                "Ask for an encrypted link: the property write or writeWithoutResponse, the permission writeEncrypted.")
    }

    /// Takes published services away.
    func withdraw(_ number: UInt64, at handles: AttributeHandleRange) {
        if localServer.remove(number) { tellOfChange(in: handles) }
        incoming.offersChanged()
    }

    private func tellOfChange(in range: AttributeHandleRange) {
        let serviceChanged = localServer.serviceChanged
        for link in links.all { link.localServicesChanged(in: range, serviceChanged) }
    }
}

extension AdapterSession {
    func incomingConnections(
        _ options: IncomingConnectionOptions = IncomingConnectionOptions()
    ) throws(BluetoothError) -> AcceptedLinks {
        try checkUsable()
        return try incoming.accept(options, operation("accept connections"))
    }
}
