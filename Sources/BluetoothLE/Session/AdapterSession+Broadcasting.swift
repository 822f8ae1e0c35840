import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

/// What became of a value that was sent to a device.
public struct ValueDelivery: Sendable {
    /// The link to the device.
    public let connection: Connection
    /// Whether the host has the notification, or the device has confirmed the indication; otherwise why not.
    public let result: Result<Void, BluetoothError>
}

extension AdapterSession {
    func broadcast(
        _ value: [UInt8], of characteristic: AttributeHandle, as kind: ClientCharacteristicConfiguration,
        timeout: Duration?
    ) async -> [ValueDelivery] {
        // All are on their way before anybody is waited for.
        let sent: [(connection: Connection, call: Promise<Void, BluetoothError>)] = links.all.compactMap { link in
            guard let connection = link.connection else { return nil }
            return link.beginSending(value, of: characteristic, as: kind).map { (connection, $0) }
        }
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        var deliveries: [ValueDelivery] = []
        deliveries.reserveCapacity(sent.count)
        for (connection, call) in sent {
            // One that is done needs no timer.
            let remaining = call.isResolved ? nil : deadline.map { max(loop.now.duration(to: $0), .zero) }
            let operation = BluetoothError.Operation(sending: kind, to: connection.peer, of: characteristic)
            do throws(BluetoothError) {
                try await call.value(operation, timeout: remaining, on: loop)
                deliveries.append(ValueDelivery(connection: connection, result: .success(())))
            } catch {
                if error.code == .timedOut { connection.core.value.fallsBehind() }
                deliveries.append(ValueDelivery(connection: connection, result: .failure(error)))
            }
        }
        return deliveries
    }
}
