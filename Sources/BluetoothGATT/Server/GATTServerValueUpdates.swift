import BluetoothATT
import BluetoothPrimitives

extension GATTServer {
    /// Writes a Handle Value Notification of a characteristic that the client has asked to be notified of
    /// (Core Vol 3 Part F §3.4.7.1, Part G §4.10).
    ///
    /// - Parameters:
    ///   - characteristic: The handle of the characteristic's value.
    ///   - value: The value, of which the first ATT_MTU − 3 bytes are sent; see ``BluetoothATT/ATTValueLimits/notification``.
    /// - Throws: ``GATTServerError`` when the client has not asked, or when the link is not protected enough. The
    ///   writer is then empty.
    public func encodeNotification(
        of characteristic: AttributeHandle, value: RawSpan, database: borrowing AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(GATTServerError) {
        begin(&writer)
        try checkSending(characteristic, as: .notification, database: database)
        let value = value.extracting(first: ATTValueLimits(mtu: mtu).notification)
        write(.handleValueNotification(characteristic, value: value), to: &writer)
    }

    /// Writes one notification of the first of `values`, and of as many that follow as fit into it when the client
    /// understands a Multiple Handle Value Notification (Core Vol 3 Part F §3.4.7.4, Part G §4.10.2).
    ///
    /// - Parameters:
    ///   - values: The handles of characteristics' values with what to tell, at least one. The first, when it goes alone,
    ///     is cut as ``encodeNotification(of:value:database:into:)`` cuts it.
    /// - Returns: How many of `values` are in the notification.
    /// - Throws: ``GATTServerError`` when the client has not asked for the first, or when the link is not protected
    ///   enough for it; the writer is then empty. One that follows and may not be sent ends the list.
    public func encodeNotification(
        of values: ArraySlice<(characteristic: AttributeHandle, value: [UInt8])>,
        database: borrowing AttributeDatabase, into writer: inout ByteWriter
    ) throws(GATTServerError) -> Int {
        guard let first = values.first else {
            begin(&writer)
            return 0
        }
        if values.count >= 2, client.supportedFeatures.contains(.multipleNotifications) {
            begin(&writer)
            var notification = ATTMultipleHandleValueNotificationBuilder()
            for (characteristic, value) in values {
                do throws(GATTServerError) {
                    try checkSending(characteristic, as: .notification, database: database)
                } catch {
                    guard notification.count > 0 else { throw error }
                    break
                }
                guard notification.append(characteristic, value: value.span.bytes, to: &writer) else { break }
            }
            if notification.count >= 2 { return notification.count }
        }
        try encodeNotification(
            of: first.characteristic, value: first.value.span.bytes, database: database, into: &writer)
        return 1
    }

    /// Writes a Handle Value Indication of a characteristic that the client has asked to be indicated
    /// (Core Vol 3 Part F §3.4.7.2, Part G §4.11).
    ///
    /// Once it is sent, ``didSendIndication(of:)`` has to be told. The next can be written after
    /// ``GATTServerEvent/indicationConfirmed(_:)``; when that takes longer than 30 seconds, the bearer is over.
    ///
    /// - Parameters:
    ///   - characteristic: The handle of the characteristic's value.
    ///   - value: The value, of which the first ATT_MTU − 3 bytes are sent; see ``BluetoothATT/ATTValueLimits/notification``.
    /// - Throws: ``GATTServerError`` when the client has not asked, when it has not confirmed the last indication, or
    ///   when the link is not protected enough. The writer is then empty.
    public func encodeIndication(
        of characteristic: AttributeHandle, value: RawSpan, database: borrowing AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(GATTServerError) {
        begin(&writer)
        try checkSending(characteristic, as: .indication, database: database)
        if let outstandingIndication { throw .indicationOutstanding(outstandingIndication) }
        let value = value.extracting(first: ATTValueLimits(mtu: mtu).notification)
        write(.handleValueIndication(characteristic, value: value), to: &writer)
    }

    /// Takes note that the indication of `characteristic` is on its way, so that the next waits for its confirmation.
    public mutating func didSendIndication(of characteristic: AttributeHandle) {
        outstandingIndication = characteristic
    }

    /// Whether the link is protected as the values of a characteristic demand that are sent over it.
    public func isProtected(for characteristic: AttributeHandle, database: borrowing AttributeDatabase) -> Bool {
        guard let position = database.position(of: characteristic) else { return false }
        let refusal = database.attributes[position].permissions.securityRefusal(
            of: .read, over: security, minimumKeySize: limits.minimumEncryptionKeySize)
        return refusal == nil
    }

    private func checkSending(
        _ characteristic: AttributeHandle, as kind: ClientCharacteristicConfiguration,
        database: borrowing AttributeDatabase
    ) throws(GATTServerError) {
        guard let configuration = configurations[characteristic], configuration.contains(kind),
            let position = database.position(of: characteristic)
        else { throw .notSubscribed(characteristic) }
        if client.isOutOfSync, database.attributes[position].type != .serviceChanged {
            throw .clientOutOfSync(characteristic)
        }
        if database.attributes[position].permissions.needsAuthorization(to: .read),
            !client.isAuthorized(for: characteristic)
        {
            throw .insufficientSecurity(characteristic, .insufficientAuthorization)
        }
        if let code = database.attributes[position].permissions.securityRefusal(
            of: .read, over: security, minimumKeySize: limits.minimumEncryptionKeySize)
        {
            throw .insufficientSecurity(characteristic, code)
        }
    }
}
