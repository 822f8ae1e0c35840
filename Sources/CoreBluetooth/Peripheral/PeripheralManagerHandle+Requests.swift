import BluetoothGATT
import BluetoothLE
import BluetoothSockets
import Foundation

// The requests of centrals, which the program answers.
extension PeripheralManagerHandle {
    var receiver: PeerEventReceiver {
        { [weak self] event, connection in
            switch event {
            case .read(let handle, let question): self?.read(handle, question, of: connection)
            case .write(let writes, let question): self?.write(writes, question, of: connection)
            case .subscription(let subscription): self?.receive(subscription, of: connection)
            }
        }
    }

    func central(_ address: BluetoothAddress) -> CBCentral {
        shared { $0.links[address]?.central } ?? CBCentral(address)
    }

    /// Records the maximum length of a value for a central that sends a request.
    func updateMaximumLength(of connection: Connection) {
        guard let link = shared({ $0.links[connection.peer] }) else { return }
        link.central.setMaximumUpdateValueLength(link.connection.maximumCommandLengthNow)
    }

    private func read(_ handle: AttributeHandle, _ question: PeerQuestion, of connection: Connection) {
        guard let characteristic = shared({ $0.characteristics[handle] }) else {
            question.resolve(.failure(.attributeNotFound))
            return
        }
        updateMaximumLength(of: connection)
        let peer = connection.peer
        post(from: .device(peer)) { [self] manager, delegate in
            let request = CBATTRequest(central(peer), characteristic, offset: 0, value: nil, question: question)
            guard let delegate else { return manager.respond(to: request, withResult: .requestNotSupported) }
            delegate.peripheralManager(manager, didReceiveRead: request)
        }
    }

    private func write(_ writes: [AttributeWrite], _ question: PeerQuestion?, of connection: Connection) {
        let peer = connection.peer
        guard question != nil || shared({ $0.commands.begin(of: peer) }) else {
            return coreBluetoothLog.notice("dropped a command of \(peer.digits): too many wait for the program")
        }
        updateMaximumLength(of: connection)
        let subjects = writes.map { write in shared { $0.characteristics[write.handle] } }
        post(from: .device(peer)) { [self] manager, delegate in
            if question == nil { shared { $0.commands.end(of: peer) } }
            let requests = zip(writes, subjects).compactMap { write, subject in
                subject.map {
                    CBATTRequest(
                        central(peer), $0, offset: write.offset, value: Data(write.value), question: question)
                }
            }
            guard let first = requests.first, requests.count == writes.count else {
                question?.resolve(.failure(.attributeNotFound))
                return
            }
            guard let delegate else { return manager.respond(to: first, withResult: .writeNotPermitted) }
            delegate.peripheralManager(manager, didReceiveWrite: requests)
        }
    }
}
