import BluetoothSockets
import BluetoothLE
import Foundation
import Logging

// The values that a program sends to its subscribers. Each link has a queue and a task that sends it, so that none
// waits for another; the program waits when too many values are queued for any of them. A link that accepts nothing for
// too long is not waited for while others do: it misses values that are sent to others meanwhile. When it accepts values
// again it is on trial (LinkPatience): it is given values, but the program does not wait for them.
extension PeripheralManagerHandle {
    /// The time a link may accept nothing before it no longer delays the others.
    static let patience = Duration.seconds(2)
    /// The number of values that may be queued for a link on trial.
    private static let trialQueue = 64

    /// Queues a value for subscribers; false when there is no room for it.
    func update(
        _ value: [UInt8], of characteristic: CBMutableCharacteristic, for centrals: [CBCentral]?
    ) -> Bool {
        let addresses = centrals.map { Set($0.map(\.address)) }
        let (isTaken, order) = shared { shared -> (Bool, (update: Update, targets: [Link], onTrial: [Link])?) in
            guard let handle = shared.characteristics.first(where: { $0.value === characteristic })?.key else {
                return (true, nil)
            }
            guard shared.outbox.flow.canSend, shared.outbox.flow.begin() else {
                shared.outbox.isWaiting = true
                return (false, nil)
            }
            let wanting = shared.links.values.filter { link in
                link.subscriptions[handle] != nil && addresses?.contains(link.connection.peer) ?? true
            }
            let accepting = shared.hasAcceptingLink ? wanting.filter { !shared.isStalled($0.connection) } : wanting
            // Without any other, one on trial is waited for.
            let trusted = accepting.filter { !$0.patience.isOnTrial }
            let targets = trusted.isEmpty ? accepting : trusted
            let onTrial = trusted.isEmpty ? [] : accepting.filter(\.patience.isOnTrial)
            for link in wanting where !trusted.isEmpty && shared.isStalled(link.connection) {
                shared.patience(of: link.connection) { $0.missed() }
            }
            guard wanting.isEmpty || !targets.isEmpty else {
                // No subscriber accepts anything now.
                shared.outbox.flow.cancel()
                shared.outbox.isWaiting = true
                return (false, nil)
            }
            shared.outbox.lastNumber &+= 1
            let update = Update(number: shared.outbox.lastNumber, value: value, handle: handle)
            shared.outbox.onTheWay[update.number] = Set(targets.map { ObjectIdentifier($0.connection) })
            return (true, (update, targets, onTrial))
        }
        guard let order else {
            if isTaken { misuse("\(characteristic.uuid) is not published; its value is not sent.") }
            return isTaken
        }
        let missing = order.targets.filter { !$0.updates.append(order.update) }
        let passedOver = order.onTrial.filter { !$0.updates.append(order.update, upTo: Self.trialQueue) }
        if !passedOver.isEmpty {
            shared { shared in for link in passedOver { shared.patience(of: link.connection) { $0.missed() } } }
        }
        let isRefused = !missing.isEmpty && missing.count == order.targets.count
        let isAnyLeft = shared { shared -> Bool in
            let left = missing.filter { shared.links[$0.connection.peer]?.connection === $0.connection }
            // Its queue is full already, or it is about to end; either way an event follows when that is over.
            for link in left {
                shared.outbox.stalled.insert(ObjectIdentifier(link.connection))
                shared.patience(of: link.connection) { $0.missed() }
            }
            if isRefused, !left.isEmpty { shared.outbox.isWaiting = true }
            return !left.isEmpty
        }
        for link in missing {
            if !isRefused {
                coreBluetoothLog.notice(
                    "\(link.connection.peer.digits) misses a value: too many values are queued, or its link has ended.")
            }
            settle(order.update.number, of: link.connection)
        }
        if order.targets.isEmpty { settle(order.update.number, of: nil) }
        guard isRefused else { return true }
        // Ended links have been removed, and other subscribers may remain.
        return isAnyLeft ? false : update(value, of: characteristic, for: centrals)
    }

    /// Sends a link its values, one after the other.
    func send(_ updates: BoundedQueue<Update>, over connection: Connection) async {
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
            let (acceptsAgain, missed) = shared { [isUp] shared -> (Bool, Int?) in
                if isUp {
                    var missed: Int?
                    shared.patience(of: connection) {
                        if $0.took(at: radio.loop.now) { missed = $0.missedCount }
                    }
                    return (shared.outbox.stalled.remove(ObjectIdentifier(connection)) != nil, missed)
                }
                // It no longer accepts anything, and is about to be removed.
                shared.outbox.stalled.insert(ObjectIdentifier(connection))
                return (false, nil)
            }
            if let missed {
                coreBluetoothLog.notice(
                    "\(connection.peer.digits) delays the others again; it has missed \(missed) values.")
            }
            settle(update.number, of: connection)
            if acceptsAgain { acceptingLinksChanged() }
        }
        // Its unsent values delay no other link.
        settle(nil, of: connection)
    }

    /// Records that a link has accepted nothing for a long time.
    private func stalled(_ connection: Connection) {
        let (isPassedOver, isNew) = shared { shared -> (Bool, Bool) in
            guard let link = shared.links[connection.peer], link.connection === connection else {
                return (false, false)
            }
            shared.outbox.stalled.insert(ObjectIdentifier(connection))
            shared.patience(of: connection) { $0.heldUp() }
            return (shared.hasAcceptingLink, !link.patience.isOnTrial)
        }
        guard isPassedOver else { return }
        if isNew {
            coreBluetoothLog.notice("\(connection.peer.digits) accepts no values, and no longer delays the others.")
        }
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

    /// Changes how long a link is waited for.
    fileprivate mutating func patience(of connection: Connection, _ body: (inout LinkPatience) -> Void) {
        guard var link = links[connection.peer], link.connection === connection else { return }
        body(&link.patience)
        links[connection.peer] = link
    }

    /// Whether a link has accepted nothing for too long.
    func isStalled(_ connection: Connection) -> Bool { outbox.stalled.contains(ObjectIdentifier(connection)) }
}
