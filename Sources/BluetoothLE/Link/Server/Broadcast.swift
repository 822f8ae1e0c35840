import BluetoothATT
import BluetoothGATT
import BluetoothHost
import BluetoothLoop

/// The outcome of sending a value to a device.
public struct ValueDelivery: Sendable {
    /// The link to the device.
    public let connection: Connection
    /// Success if the host has the notification or the device has confirmed the indication; otherwise the error.
    public let result: Result<Void, BluetoothError>
}

extension LinkRegistry {
    /// Sends a value to every subscriber once: of both kinds, an indication to those that have asked for indications.
    nonisolated(nonsending) func broadcast(
        _ value: [UInt8], of characteristic: AttributeHandle, as kinds: ClientCharacteristicConfiguration,
        timeout: Duration?, on loop: EventLoop
    ) async -> [ValueDelivery] {
        typealias Sent = (
            connection: Connection, kind: ClientCharacteristicConfiguration, call: Promise<Void, BluetoothError>
        )
        // All values are sent before the first outcome is awaited.
        let sent: [Sent] = all.compactMap { link in
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
            var remaining = call.isResolved ? nil : deadline?.remaining(at: loop.now)
            if isSpared, !call.isResolved {
                let end = trialEnd ?? loop.now.advanced(by: LinkPatience.trialWait)
                trialEnd = end
                let rest = end.remaining(at: loop.now)
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

    /// The number of devices that have subscribed to a characteristic, on links with the security that its values require.
    func subscriberCount(of characteristic: AttributeHandle) -> Int {
        all.count { link in
            !link.peerConfiguration(of: characteristic).isEmpty
                && link.bondedPeerIfAny?.isRestored(characteristic) != true
        }
    }
}
