import BluetoothPrimitives

// How many bonds there are, and which of them are in use.
extension BondKeeper {
    /// How much room a listener has to have left to be told of a refusal, which whoever is near can cause.
    private static let roomForRefusals = 128

    /// Whether a pairing with a device that is not bonded would find room.
    func hasRoom(forAuthenticated isAuthenticated: Bool) -> Bool {
        guard writer != nil, standing != .daemon, known.count >= limit.count else { return true }
        return displaced(forAuthenticated: isAuthenticated) != nil
    }

    private func displaced(forAuthenticated isAuthenticated: Bool) -> Bond? {
        limit.displaced(from: known.values, forAuthenticated: isAuthenticated) { observer?.isConnected($0) ?? false }
    }

    /// Makes room for the bond that a key makes. Where there is none, the host is to forget the key, and the link ends.
    func makeRoom(for key: LongTermKey) -> Bool {
        let identity = key.address
        guard writer != nil, known[identity] == nil, known.count >= limit.count else { return true }
        if let bond = displaced(forAuthenticated: key.kind.isAuthenticated) {
            log.notice("a bond makes room", metadata: ["peer": "\(bond.identity)", "for": "\(identity)"])
            drop(bond.identity, .displaced(bond.identity, by: identity))
            _ = keys.forget(bond.identity)
            write(bond.identity, isUpdate: false)
            return true
        }
        // Legacy pairing makes a key for each role.
        guard refused.insert(identity).inserted else { return false }
        tellRefused(identity)
        observer?.onRefused(identity)
        keys.refuse(identity) { [weak self] in self?.refused.remove(identity) }
        return false
    }

    /// There was no room for the bond with a device.
    func tellRefused(_ peer: BluetoothAddress) {
        log.notice("a pairing is refused: there are \(known.count) bonds", metadata: ["peer": "\(peer)"])
        changes.send(.refused(peer), reserving: Self.roomForRefusals)
    }

    /// Takes note that a device was here again, on a link that was encrypted with its keys; nothing when there is no bond.
    func noteUse(of identity: BluetoothAddress) {
        guard known[identity]?.wasUsedAgain == false else { return }
        known[identity]?.wasUsedAgain = true
        write(identity, isUpdate: true)
    }
}
