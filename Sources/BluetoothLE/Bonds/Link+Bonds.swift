import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

// What a bond means for a link: our subscriptions there, and the peer's here, outlive it.
extension Link {
    /// Whether the peer keeps our subscriptions from link to link: it is bonded with, and, since the link is encrypted,
    /// surely the one that it was.
    var isPeerBonded: Bool { isEncrypted && bond != nil }

    private var bond: Bond? {
        bonds?.bond(with: socketPeer)
    }

    private var isEncrypted: Bool {
        if !wasEncrypted, let security = try? security(), security.level >= .medium { wasEncrypted = true }
        return wasEncrypted
    }

    /// A pairing on this link has made a bond.
    func bonded(isAgain: Bool) {
        isReturn = false
        restoreClient()
        keepClient()
        nameBond()
        database.bonded(isAgain: isAgain, self)
    }

    // MARK: What it is called

    /// Has a new bond know what the device was heard to call itself, under the address that it was connected to with.
    private func nameBond() {
        guard let bonds, let bond, bond.name == nil, let adapter else { return }
        let names = adapter.controller.value.heardNames
        let name = names.name(of: peer) ?? names.name(of: bond.identity)
        if let name { bonds.setName(name, of: bond.identity) }
    }

    /// The peer's GAP Device Name was read (Core Vol 3 Part C §12.1): that is what its bond is called from now on.
    func take(deviceName: [UInt8]) {
        let name = String(decoding: deviceName.prefix { $0 != 0 }, as: UTF8.self)
        guard !name.isEmpty, isPeerBonded, let bonds, let bond else {
            if !name.isEmpty { adapter?.controller.value.heardNames.note(name, of: peer) }
            return
        }
        bonds.setName(name, of: bond.identity)
    }

    // MARK: The peer as a client

    /// Has what a bonded client wanted to be sent, and what it knows of our attributes, taken up as soon as the link is
    /// encrypted: before, it may be anybody, and is not sent anything.
    func awaitClient() {
        guard let bearer = try? bearer(for: .init("restore subscriptions", peer: peer)), bonds != nil else { return }
        bearer.onClientChanged = { [weak self] in self?.keepClient() }
        guard let bond else { return }
        (awaitsRestoring, isReturn) = (bond.client != nil, !bond.wasUsedAgain)
        guard awaitsRestoring || isReturn else { return }
        bearer.onRequest = { [weak self] in self?.restoreClient() }
        // Later, when whoever took the link has it.
        loop.executeLocally { [weak self] in self?.restoreClient() }
    }

    /// Takes up what a bonded client wanted to be sent, and what it knows of our attributes, when it was here last, once
    /// it is surely the one that it was (Core Vol 3 Part G §2.5.2.1, §3.3.3.3, §7.2).
    private func restoreClient() {
        guard let bearer = try? bearer(for: .init("restore subscriptions", peer: peer)), isEncrypted else { return }
        if isReturn, protectionIfAny?.madeKey == nil, pairings?.isPairing(addresses) != true {
            isReturn = false
            bonds?.noteUse(of: socketPeer)
        }
        if awaitsRestoring {
            awaitsRestoring = false
            guard let record = bond?.client else {
                if !isReturn { bearer.onRequest = nil }
                return
            }
            let before = Set(bearer.client.configurations.keys)
            localServer.withDatabase { bearer.client.restore(record, database: $0) }
            if !bearer.client.isChangeAware { bearer.indicateMissedChanges() }
            untoldSubscriptions = Set(bearer.client.configurations.keys).subtracting(before)
        }
        tellRestoredSubscriptions()
    }

    /// Tells the program of the subscriptions that a bonded client has brought along, as of those that it makes: of each when
    /// the link is protected as its values demand.
    private func tellRestoredSubscriptions() {
        guard let bearer = try? bearer(for: .init("restore subscriptions", peer: peer)) else { return }
        bearer.updateSecurity()
        for handle in untoldSubscriptions.sorted() {
            let isProtected = localServer.withDatabase { bearer.core.server.isProtected(for: handle, database: $0) }
            guard isProtected else { continue }
            untoldSubscriptions.remove(handle)
            guard let configuration = bearer.client.configurations[handle] else { continue }
            tell(PeerSubscription(characteristic: handle, configuration: configuration))
        }
        if untoldSubscriptions.isEmpty, !isReturn { bearer.onRequest = nil }
    }

    /// The controller has told that the link is encrypted now; the kernel may not have taken that in yet.
    func linkEncrypted() {
        wasEncrypted = true
        // A pairing on this link is no use of the bond from an earlier one.
        if protectionIfAny?.madeKey != nil || pairings?.isPairing(addresses) == true { isReturn = false }
        // Whatever was asked or shown is settled: without bonding nothing else tells of the pairing's end.
        pairings?.isOver(addresses)
        guard let bearer = try? bearer(for: .init("tell of changes", peer: peer)) else { return }
        bearer.isToldEncrypted = true
        restoreClient()
    }

    /// Has what a bonded client wants to be sent kept.
    ///
    /// Over a link that is not encrypted anybody could claim to be that client.
    func keepClient() {
        guard let bonds, let bearer = try? bearer(for: .init("keep subscriptions", peer: peer)), let bond, isEncrypted
        else { return }
        // What was kept before has not been taken up.
        guard !awaitsRestoring else { return }
        let record = localServer.withDatabase { bearer.client.record(of: $0, after: bond.client) }
        if bond.client == nil, record.subscriptions.isEmpty, record.supportedFeatures.isEmpty { return }
        bonds.setClient(record, of: bond.identity)
    }
}

extension AdapterSession {
    /// Has bonds and links know of each other.
    func followBonds() {
        let keeper = bondKeeper.value
        keeper.onBonded = { [links] identity, isAgain in
            for link in links.value.all where link.identity == identity { link.bonded(isAgain: isAgain) }
        }
        keeper.onRefused = { [weak pairings = pairings.value] identity in pairings?.bondWasRefused(identity) }
        keeper.isConnected = { [links] identity in links.value.all.contains { $0.identity == identity } }
        keeper.onKeysChanged = { [controller] keys in controller.value.resolution.setKeys(keys) }
        keeper.keysChanged()
    }
}
