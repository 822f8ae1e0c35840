import BluetoothATT
import BluetoothPrimitives

extension GATTServer {
    /// Writes a Handle Value Notification of a characteristic to which the client has subscribed
    /// (Core Vol 3 Part F §3.4.7.1, Part G §4.10).
    ///
    /// - Parameters:
    ///   - characteristic: The value handle of the characteristic.
    ///   - value: The value, truncated to ATT_MTU − 3 bytes; see ``BluetoothATT/ATTValueLimits/notification``.
    /// - Throws: ``GATTServerError`` when the client has not subscribed, is out of sync, or lacks the required
    ///   security. `writer` is then empty.
    public func encodeNotification(
        of characteristic: AttributeHandle, value: RawSpan, database: borrowing AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(GATTServerError) {
        begin(&writer)
        try checkSending(characteristic, as: .notification, database: database)
        let value = value.extracting(first: ATTValueLimits(mtu: mtu).notification)
        write(.handleValueNotification(characteristic, value: value), to: &writer)
    }

    /// Writes one notification of the first of `values`, and of as many following ones as fit if the client supports
    /// Multiple Handle Value Notifications (Core Vol 3 Part F §3.4.7.4, Part G §4.10.2).
    ///
    /// - Parameters:
    ///   - values: The value handles of characteristics with their values, at least one. If the first is sent alone, it
    ///     is truncated as in ``encodeNotification(of:value:database:into:)``.
    /// - Returns: The number of `values` in the notification.
    /// - Throws: ``GATTServerError`` when the first value must not be sent; `writer` is then empty. A later value that
    ///   must not be sent ends the list.
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

    /// Writes a Handle Value Indication of a characteristic to which the client has subscribed
    /// (Core Vol 3 Part F §3.4.7.2, Part G §4.11).
    ///
    /// The next indication can follow the client's confirmation; if that takes more than 30 seconds, the bearer is
    /// unusable.
    ///
    /// - Parameters:
    ///   - characteristic: The value handle of the characteristic.
    ///   - value: The value, truncated to ATT_MTU − 3 bytes; see ``BluetoothATT/ATTValueLimits/notification``.
    /// - Throws: ``GATTServerError`` when the client has not subscribed, is out of sync, or lacks the required
    ///   security. `writer` is then empty.
    public func encodeIndication(
        of characteristic: AttributeHandle, value: RawSpan, database: borrowing AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(GATTServerError) {
        begin(&writer)
        try checkSending(characteristic, as: .indication, database: database)
        let value = value.extracting(first: ATTValueLimits(mtu: mtu).notification)
        write(.handleValueIndication(characteristic, value: value), to: &writer)
    }

    /// Whether the link has the security, and the client the bond, that notifications and indications of the
    /// characteristic require.
    public func isProtected(for characteristic: AttributeHandle, database: borrowing AttributeDatabase) -> Bool {
        guard let attribute = database.attribute(at: characteristic) else { return false }
        return protectionRefusal(sending: attribute) == nil
    }

    /// The error code when the link lacks the security, or the client the bond, that the value requires.
    private func protectionRefusal(sending attribute: AttributeDatabase.Attribute) -> ATTErrorCode? {
        let refusal = attribute.permissions.securityRefusal(
            of: .read, over: security, minimumKeySize: limits.minimumEncryptionKeySize)
        return refusal ?? (lacksBond(for: .read, to: attribute) ? .insufficientAuthorization : nil)
    }

    private func checkSending(
        _ characteristic: AttributeHandle, as kind: ClientCharacteristicConfiguration,
        database: borrowing AttributeDatabase
    ) throws(GATTServerError) {
        guard let configuration = configurations[characteristic], configuration.contains(kind),
            let attribute = database.attribute(at: characteristic)
        else { throw .notSubscribed(characteristic) }
        if client.isOutOfSync, attribute.type != .serviceChanged { throw .clientOutOfSync(characteristic) }
        if let code = protectionRefusal(sending: attribute) { throw .insufficientSecurity(characteristic, code) }
        if lacksAuthorization(for: .read, to: attribute) {
            throw .insufficientSecurity(characteristic, .insufficientAuthorization)
        }
    }
}
