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

/// The sending of a value that a link has not taken at once.
private struct WaitingDelivery {
    let index: Int
    let link: Link
    let kind: ClientCharacteristicConfiguration
    let call: Promise<Void, BluetoothError>
}

extension LinkRegistry {
    /// Sends a value to every subscriber once: of both kinds, an indication to those that have asked for indications.
    nonisolated(nonsending) func broadcast(
        _ value: [UInt8], of characteristic: AttributeHandle, as kinds: ClientCharacteristicConfiguration,
        timeout: Duration?, on loop: EventLoop
    ) async -> [ValueDelivery] {
        // All values are sent before the first outcome is awaited.
        var deliveries: [ValueDelivery] = []
        deliveries.reserveCapacity(count)
        var waiting: [WaitingDelivery] = []
        var isAnyTrusted = false
        for link in all {
            guard let connection = link.connection else { continue }
            var kind = kinds
            if kinds == [.notification, .indication] {
                let isIndicated = link.peerConfiguration(of: characteristic).contains(.indication)
                kind = isIndicated ? .indication : .notification
            }
            guard let sent = link.beginSending(value, of: characteristic, as: kind) else { continue }
            if !link.patience.isOnTrial { isAnyTrusted = true }
            switch sent {
            case .atOnce: link.recordDelivery(nil, isSpared: false)
            case .pending(let call):
                waiting.append(WaitingDelivery(index: deliveries.count, link: link, kind: kind, call: call))
            }
            deliveries.append(ValueDelivery(connection: connection, result: .success(())))
        }
        guard !waiting.isEmpty else { return deliveries }
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        // Links on trial come last, so that they have the time that the others take anyway.
        let onTrial = waiting.filter(\.link.patience.isOnTrial)
        waiting.removeAll(where: \.link.patience.isOnTrial)
        // One wait for all that are on trial, which begins when the others have taken the value.
        var trialEnd: KernelInstant?
        for delivery in waiting + onTrial {
            let (link, call) = (delivery.link, delivery.call)
            let isSpared = delivery.kind == .notification && isAnyTrusted && link.patience.isOnTrial
            // A completed call needs no timer.
            var remaining = call.isResolved ? nil : deadline?.remaining(at: loop.now)
            if isSpared, !call.isResolved {
                let end = trialEnd ?? loop.now.advanced(by: LinkPatience.trialWait)
                trialEnd = end
                let rest = end.remaining(at: loop.now)
                remaining = min(remaining ?? rest, rest)
            }
            let operation = BluetoothError.Operation(sending: delivery.kind, to: link.peer, of: characteristic)
            var failure: BluetoothError?
            do throws(BluetoothError) {
                try await call.value(operation, timeout: remaining, on: loop)
            } catch {
                failure = error
            }
            link.recordDelivery(failure, isSpared: isSpared)
            if isSpared, failure?.code == .timedOut { failure = .linkIsBehind(operation) }
            if let failure {
                let connection = deliveries[delivery.index].connection
                deliveries[delivery.index] = ValueDelivery(connection: connection, result: .failure(failure))
            }
        }
        return deliveries
    }

    /// The number of devices that have subscribed to a characteristic, on links with the security that its values require.
    func subscriberCount(of characteristic: AttributeHandle) -> Int {
        all.count { link in
            !link.peerConfiguration(of: characteristic).isEmpty
                && link.bondedPeerIfAny?.isRestored(characteristic) != true
        }
    }
}
