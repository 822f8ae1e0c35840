import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

/// What became of a value that was sent to a device.
public struct ValueDelivery: Sendable {
    /// The link to the device.
    public let connection: Connection
    /// Whether the kernel has the notification, or the device has confirmed the indication; otherwise why not.
    public let result: Result<Void, BluetoothError>
}

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

extension AdapterSession {
    fileprivate func broadcast(
        _ value: [UInt8], of characteristic: AttributeHandle, as kind: ClientCharacteristicConfiguration,
        timeout: Duration?
    ) async -> [ValueDelivery] {
        // All are on their way before anybody is waited for.
        let sent: [(connection: Connection, call: Promise<Void, BluetoothError>)] = links.value.all.compactMap { link in
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

extension Link {
    /// Begins to send a value to the peer; nil when it has not subscribed.
    fileprivate func beginSending(
        _ value: [UInt8], of characteristic: AttributeHandle, as kind: ClientCharacteristicConfiguration
    ) -> Promise<Void, BluetoothError>? {
        let operation = BluetoothError.Operation(sending: kind, to: peer, of: characteristic)
        guard let bearer = try? bearer(for: operation),
            bearer.client.configurations[characteristic]?.isSuperset(of: kind) == true
        else { return nil }
        let message = ValueCall(value, of: characteristic, operation, on: bearer)
        if kind == .notification {
            if isBehind, bearer.core.isCongested {
                message.call.fail(
                    BluetoothError(
                        .busy, operation, "The link has not taken an earlier value yet, so this one is not sent.",
                        isRetryable: true))
                return message.call
            }
            isBehind = false
        }
        bearer.submit(message, as: kind)
        return message.call
    }

    /// The link did not take a value in time.
    fileprivate func fallsBehind() {
        isBehind = (try? bearer(for: .init("notify", peer: peer)))?.core.isCongested ?? false
    }
}

extension BluetoothError.Operation {
    /// Sending a value of ours as a notification or an indication.
    init(sending kind: ClientCharacteristicConfiguration, to peer: BluetoothAddress, of handle: AttributeHandle) {
        self.init(kind == .notification ? "notify" : "indicate", peer: peer, attribute: handle)
    }
}
