import BluetoothSockets
import BluetoothLE
import Foundation
import Logging

// The values that a program sends to its subscribers. Each link has a queue and a task that sends it, so that none
// waits for another; the program waits when too many values are queued for any of them. A link that accepts nothing for
// too long is not waited for while others do: it misses values that are sent to others meanwhile.
extension PeripheralManagerHandle {
    /// The time a link may accept nothing before it no longer delays the others.
    static let patience = Duration.seconds(2)

    /// Queues a value for subscribers; false when there is no room for it.
    func update(
        _ value: [UInt8], of characteristic: CBMutableCharacteristic, for centrals: [CBCentral]?
    ) -> Bool {
        let addresses = centrals.map { Set($0.map(\.address)) }
        let (isTaken, order) = shared { shared -> (Bool, (update: Update, targets: [Link])?) in
            guard let handle = shared.characteristics.first(where: { $0.value.object === characteristic })?.key else {
                return (true, nil)
            }
            guard shared.outbox.flow.canSend, shared.outbox.flow.begin() else {
                shared.outbox.isWaiting = true
                return (false, nil)
            }
            let wanting = shared.links.values.filter { link in
                link.subscriptions[handle] != nil && addresses?.contains(link.connection.peer) ?? true
            }
            let targets = shared.hasAcceptingLink ? wanting.filter { !shared.isStalled($0.connection) } : wanting
            guard wanting.isEmpty || !targets.isEmpty else {
                // No subscriber accepts anything now.
                shared.outbox.flow.cancel()
                shared.outbox.isWaiting = true
                return (false, nil)
            }
            shared.outbox.lastNumber &+= 1
            let update = Update(number: shared.outbox.lastNumber, value: value, handle: handle)
            shared.outbox.onTheWay[update.number] = Set(targets.map { ObjectIdentifier($0.connection) })
            return (true, (update, targets))
        }
        guard let order else {
            if isTaken { misuse("\(characteristic.uuid) is not published; its value is not sent.") }
            return isTaken
        }
        let missing = order.targets.filter { !$0.updates.append(order.update) }
        let isRefused = !missing.isEmpty && missing.count == order.targets.count
        let isAnyLeft = shared { shared -> Bool in
            let left = missing.filter { shared.links[$0.connection.peer]?.connection === $0.connection }
            // Its queue is full already, or it is about to end; either way an event follows when that is over.
            for link in left { shared.outbox.stalled.insert(ObjectIdentifier(link.connection)) }
            if isRefused, !left.isEmpty { shared.outbox.isWaiting = true }
            return !left.isEmpty
        }
        for link in missing {
            if !isRefused {
                coreBluetoothLog.notice(
                    "\(link.connection.peer) misses a value: too many are queued, or its link has ended.")
            }
            settle(order.update.number, of: link.connection)
        }
        if order.targets.isEmpty { settle(order.update.number, of: nil) }
        guard isRefused else { return true }
        // Ended links have been removed, and other subscribers may remain.
        return isAnyLeft ? false : update(value, of: characteristic, for: centrals)
    }

    /// Sends a link its values, one after the other.
    func send(_ updates: RequestQueue<Update>, over connection: Connection) async {
        let timer = radio.loop.makeTimer { [weak self, weak connection] in
            if let self, let connection { stalled(connection) }
        }
        while let update = await updates.next() {
            let configuration = shared { $0.links[connection.peer]?.subscriptions[update.handle]?.configuration }
            var isUp = true
            if let configuration {
                timer.set(after: Self.patience)
                do throws(BluetoothError) {
                    if configuration.contains(.notification) {
                        try await connection.notify(update.value, of: update.handle)
                    } else {
                        try await connection.indicate(update.value, of: update.handle)
                    }
                } catch {
                    isUp = error.code != .disconnected && error.code != .cancelled
                    if isUp {
                        coreBluetoothLog.notice("a value was not sent: \(error)")
                    }
                }
                timer.cancel()
            }
            let acceptsAgain = shared { [isUp] shared -> Bool in
                if isUp { return shared.outbox.stalled.remove(ObjectIdentifier(connection)) != nil }
                // It accepts nothing any more, and is about to be removed.
                shared.outbox.stalled.insert(ObjectIdentifier(connection))
                return false
            }
            settle(update.number, of: connection)
            if acceptsAgain { acceptingLinksChanged() }
        }
        // Its unsent values delay no other link.
        settle(nil, of: connection)
    }

    /// Records that a link has accepted nothing for a long time.
    private func stalled(_ connection: Connection) {
        let isPassedOver = shared { shared -> Bool in
            guard shared.links[connection.peer]?.connection === connection else { return false }
            shared.outbox.stalled.insert(ObjectIdentifier(connection))
            return shared.hasAcceptingLink
        }
        guard isPassedOver else { return }
        coreBluetoothLog.notice("\(connection.peer) accepts no values, and is not waited for.")
        acceptingLinksChanged()
    }

    /// Reacts to a change of the links that accept values: stalled ones are not waited for while others accept, and a
    /// program that waits for room tries again.
    func acceptingLinksChanged() {
        let (passedOver, isDue) = shared { shared -> ([Connection], Bool) in
            let connections = shared.hasAcceptingLink ? shared.links.values.map(\.connection) : []
            let passedOver = connections.filter { shared.isStalled($0) }
            // If there is no room, the program is notified when there is.
            let isDue = shared.outbox.isWaiting && shared.outbox.flow.canSend
            if isDue { shared.outbox.isWaiting = false }
            return (passedOver, isDue)
        }
        for connection in passedOver { settle(nil, of: connection) }
        guard isDue else { return }
        post { $1?.peripheralManagerIsReady(toUpdateSubscribers: $0) }
    }

    /// Records that a link has sent a value, nil for all, or is not waited for; notifies the program when it may send
    /// more.
    private func settle(_ number: UInt64?, of connection: Connection?) {
        let isDue = shared { shared -> Bool in
            var isDue = false
            for number in number.map({ [$0] }) ?? Array(shared.outbox.onTheWay.keys) {
                if let connection { shared.outbox.onTheWay[number]?.remove(ObjectIdentifier(connection)) }
                guard shared.outbox.onTheWay[number]?.isEmpty == true else { continue }
                shared.outbox.onTheWay[number] = nil
                if shared.outbox.flow.didSend() { isDue = true }
            }
            return isDue
        }
        guard isDue else { return }
        post { [self] manager, delegate in
            let isWaiting = shared { shared -> Bool in
                guard shared.outbox.flow.renew() else { return false }
                defer { shared.outbox.isWaiting = false }
                return shared.outbox.isWaiting
            }
            if isWaiting { delegate?.peripheralManagerIsReady(toUpdateSubscribers: manager) }
        }
    }
}

extension PeripheralManagerHandle.Shared {
    /// Whether there is a subscriber that accepts values.
    var hasAcceptingLink: Bool { links.values.contains { !$0.subscriptions.isEmpty && !isStalled($0.connection) } }

    /// Whether a link has accepted nothing for too long.
    func isStalled(_ connection: Connection) -> Bool { outbox.stalled.contains(ObjectIdentifier(connection)) }
}
