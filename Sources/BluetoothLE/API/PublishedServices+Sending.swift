import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

extension PublishedServices {
    /// Notifies every device that has subscribed, and says what became of it for each (Core Vol 3 Part G §4.10.1).
    ///
    /// Returns when the kernel has all the notifications, which it takes at once unless a link is slower than the values
    /// come. So a loop of calls runs at the pace of the links and loses nothing. A device whose link takes nothing for as
    /// long as `timeout` misses the value (`.timedOut`), and all that follow (`.busy`, without any waiting) until its link
    /// takes something again: it holds up nobody, and nothing piles up for it.
    /// - Parameters:
    ///   - value: what to send; of one that is longer than a link's ATT_MTU − 3 bytes the beginning is sent.
    ///   - characteristic: the handle of the value, one of these services'.
    ///   - timeout: the most time to wait for the slowest link.
    /// - Returns: one for each device that has subscribed, in the order they connected.
    /// - Throws: `.invalidArgument` when there is no characteristic of these services with the property `notify`, or the
    ///   services have been withdrawn.
    @discardableResult
    public func notify(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration = .seconds(5)
    ) async throws(BluetoothError) -> [ValueDelivery] {
        try check(characteristic, .notification, "notify")
        return await session.broadcast(value, of: characteristic, as: .notification, timeout: timeout)
    }

    /// Indicates a value to every device that has subscribed, and says who has confirmed (Core Vol 3 Part G §4.11.1).
    ///
    /// All are asked at the same time. One that does not confirm within 30 s loses its link, as the Attribute Protocol
    /// demands; with a shorter `timeout` it is reported as `.timedOut` before.
    /// - Parameters:
    ///   - value: what to send; of one that is longer than a link's ATT_MTU − 3 bytes the beginning is sent.
    ///   - characteristic: the handle of the value, one of these services'.
    ///   - timeout: the most time to wait for the slowest device.
    /// - Returns: one for each device that has subscribed, in the order they connected.
    /// - Throws: `.invalidArgument` when there is no characteristic of these services with the property `indicate`, or the
    ///   services have been withdrawn.
    @discardableResult
    public func indicate(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [ValueDelivery] {
        try check(characteristic, .indication, "indicate")
        return await session.broadcast(value, of: characteristic, as: .indication, timeout: timeout)
    }

    private func check(
        _ characteristic: AttributeHandle, _ kind: ClientCharacteristicConfiguration, _ property: String
    ) throws(BluetoothError) {
        let operation = BluetoothError.Operation(property, attribute: characteristic)
        guard handles.contains(characteristic) else {
            throw .invalidArgument(
                operation, "\(characteristic) is not among these services, which have \(handles).")
        }
        guard !isWithdrawn else { throw .invalidArgument(operation, "These services have been withdrawn.") }
        guard supportedConfiguration(of: characteristic).isSuperset(of: kind) else {
            throw .invalidArgument(
                operation, "At \(characteristic) is no value of a characteristic with the property \(property).")
        }
    }
}
