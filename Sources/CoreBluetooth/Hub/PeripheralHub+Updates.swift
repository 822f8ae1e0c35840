import BluetoothKernel
import BluetoothLE
import Foundation
import Logging

// The values that a program sends to its subscribers. Each link has a queue and somebody who works it off, so that none
// waits for another; the program waits when too many values are on their way to any of them. A link that takes nothing for
// too long is not waited for while there are others: it misses what is sent meanwhile.
extension PeripheralHub {
    /// How long a link may take nothing before the others are not held up by it any more.
    static let patience = Duration.seconds(2)

    /// Takes a value for subscribers; false when there is no room for it.
    nonisolated func update(
        _ value: [UInt8], of characteristic: CBMutableCharacteristic, for centrals: [CBCentral]?
    ) -> Bool {
        let addresses = centrals.map { Set($0.map(\.address)) }
        let (isTaken, order) = shared { shared -> (Bool, (update: Update, targets: [Link])?) in
            guard let handle = shared.characteristics.first(where: { $0.value.object === characteristic })?.key else {
                return (true, nil)
            }
            guard shared.flow.canSend, shared.flow.begin() else {
                shared.isWaiting = true
                return (false, nil)
            }
            let subscribers = shared.links.values.filter { !$0.subscriptions.isEmpty }
            let targets = subscribers.filter { link in
                link.subscriptions[handle] != nil && addresses?.contains(link.connection.peer) ?? true
                    && (subscribers.count == 1 || !shared.passedOver.contains(ObjectIdentifier(link.connection)))
            }
            shared.nextUpdate &+= 1
            let update = Update(number: shared.nextUpdate, value: value, handle: handle)
            shared.onTheWay[update.number] = Set(targets.map { ObjectIdentifier($0.connection) })
            return (true, (update, targets))
        }
        guard let order else {
            if isTaken { misuse("\(characteristic.uuid) is not offered; its value is not sent.") }
            return isTaken
        }
        for link in order.targets where !link.updates.append(order.update) {
            coreBluetoothLog.notice("\(link.connection.peer) misses a value: too many wait, or its link has ended.")
            settle(order.update.number, of: link.connection)
        }
        if order.targets.isEmpty { settle(order.update.number, of: nil) }
        return true
    }

    /// Sends a link its values, one after the other.
    nonisolated func send(_ updates: RequestQueue<Update>, over connection: Connection) async {
        let timer = loop.makeTimer { [weak self, weak connection] in
            guard let self, let connection else { return }
            assumeIsolated { $0.passOver(connection) }
        }
        while let update = await updates.next() {
            let configuration = shared { $0.links[connection.peer]?.subscriptions[update.handle]?.configuration }
            if let configuration {
                timer.set(after: Self.patience)
                do throws(BluetoothError) {
                    if configuration.contains(.notification) {
                        try await connection.notify(update.value, of: update.handle)
                    } else {
                        try await connection.indicate(update.value, of: update.handle)
                    }
                } catch {
                    if error.code != .disconnected, error.code != .cancelled {
                        coreBluetoothLog.notice("a value was not sent: \(error)")
                    }
                }
                timer.cancel()
            }
            shared { _ = $0.passedOver.remove(ObjectIdentifier(connection)) }
            settle(update.number, of: connection)
        }
        // What was not sent to it holds up nobody.
        settle(nil, of: connection)
        shared { _ = $0.passedOver.remove(ObjectIdentifier(connection)) }
    }

    /// A link has taken nothing for long.
    private func passOver(_ connection: Connection) {
        let hasOthers = shared { shared -> Bool in
            let others = shared.links.values.contains { $0.connection !== connection && !$0.subscriptions.isEmpty }
            if others { shared.passedOver.insert(ObjectIdentifier(connection)) }
            return others
        }
        guard hasOthers else { return }
        coreBluetoothLog.notice("\(connection.peer) takes no values, and is not waited for.")
        settle(nil, of: connection)
    }

    /// A link has taken a value, nil for all there are, or is not waited for; tells the program when it may send more.
    private nonisolated func settle(_ number: UInt64?, of connection: Connection?) {
        let isDue = shared { shared -> Bool in
            var isDue = false
            for number in number.map({ [$0] }) ?? Array(shared.onTheWay.keys) {
                if let connection { shared.onTheWay[number]?.remove(ObjectIdentifier(connection)) }
                guard shared.onTheWay[number]?.isEmpty == true else { continue }
                shared.onTheWay[number] = nil
                if shared.flow.didSend() { isDue = true }
            }
            return isDue
        }
        guard isDue else { return }
        post { [self] manager, delegate in
            let isWaiting = shared { shared -> Bool in
                guard shared.flow.renew() else { return false }
                defer { shared.isWaiting = false }
                return shared.isWaiting
            }
            if isWaiting { delegate?.peripheralManagerIsReady(toUpdateSubscribers: manager) }
        }
    }
}
