import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// What a bond means for a link: our subscriptions there, and the peer's here, outlive it.
///
/// Owned by its link, which it is given with each call.
final class BondedPeer {
    private let mark: ComponentCount.Mark

    init(on loop: EventLoop) { mark = loop.components.mark("BondedPeer") }

    /// Whether the link has been seen to be encrypted.
    private var wasEncrypted = false
    /// Whether what is kept of the client waits for the link to be encrypted.
    private var awaitsRestoring = false
    /// Whether the first encryption of the link, with the key of a bond from before, is that bond's first use.
    private var isReturn = false
    /// Subscriptions that the client has brought along, of which the program has not been told yet.
    private var untold: Set<AttributeHandle> = []

    /// Whether the peer keeps our subscriptions from link to link: it is bonded with, and, since the link is encrypted,
    /// surely the one that it was.
    func isBonded(_ link: Link) -> Bool { isEncrypted(link) && link.bond != nil }

    private func isEncrypted(_ link: Link) -> Bool {
        if !wasEncrypted, let security = try? link.security(), security.level >= .medium { wasEncrypted = true }
        return wasEncrypted
    }

    /// A pairing on this link has made a bond.
    func bonded(isAgain: Bool, _ link: Link) {
        isReturn = false
        restore(link)
        keep(link)
        name(link)
        link.database.bonded(isAgain: isAgain, link)
    }

    // MARK: What it is called

    /// Has a new bond know what the device was heard to call itself, under the address that it was connected to with.
    private func name(_ link: Link) {
        guard let bonds = link.bonds, let bond = link.bond, bond.name == nil else { return }
        let name = link.heardName(of: link.peer) ?? link.heardName(of: bond.identity)
        if let name { bonds.setName(name, of: bond.identity) }
    }

    /// The peer's GAP Device Name was read (Core Vol 3 Part C §12.1): that is what its bond is called from now on.
    func take(deviceName: [UInt8], _ link: Link) {
        let name = String(decoding: deviceName.prefix { $0 != 0 }, as: UTF8.self)
        guard !name.isEmpty else { return }
        if isBonded(link), let bonds = link.bonds, let bond = link.bond {
            bonds.setName(name, of: bond.identity)
        } else {
            link.noteHeardName(name)
        }
    }

    // MARK: The client

    /// Has what a bonded client wanted to be sent, and what it knows of our attributes, taken up as soon as the link is
    /// encrypted: before, it may be anybody, and is not sent anything.
    func awaitClient(_ link: Link) {
        guard let bearer = try? link.bearer(for: .init("restore subscriptions", peer: link.peer)) else { return }
        bearer.peerClient.onChange = { [weak self, weak link] in if let self, let link { keep(link) } }
        guard let bond = link.bond else { return }
        (awaitsRestoring, isReturn) = (bond.client != nil, !bond.wasUsedAgain)
        guard awaitsRestoring || isReturn else { return }
        bearer.peerClient.onRequest = { [weak self, weak link] in if let self, let link { restore(link) } }
        // Later, when whoever took the link has it.
        link.loop.executeLocally { [weak self, weak link] in if let self, let link { restore(link) } }
    }

    /// Takes up what a bonded client wanted to be sent, and what it knows of our attributes, when it was here last, once
    /// it is surely the one that it was (Core Vol 3 Part G §2.5.2.1, §3.3.3.3, §7.2).
    private func restore(_ link: Link) {
        guard let bearer = try? link.bearer(for: .init("restore subscriptions", peer: link.peer)), isEncrypted(link)
        else { return }
        if isReturn, !link.isPairedAnew {
            isReturn = false
            link.bonds?.noteUse(of: link.identity)
        }
        if awaitsRestoring {
            awaitsRestoring = false
            guard let record = link.bond?.client else {
                if !isReturn { bearer.peerClient.onRequest = nil }
                return
            }
            let before = Set(bearer.client.configurations.keys)
            link.localServer.withDatabase { bearer.client.restore(record, database: $0) }
            if !bearer.client.isChangeAware { bearer.indicateMissedChanges() }
            untold = Set(bearer.client.configurations.keys).subtracting(before)
        }
        tellOfRestored(link, bearer)
    }

    /// Tells the program of the subscriptions that a bonded client has brought along, as of those that it makes: of each when
    /// the link is protected as its values demand.
    private func tellOfRestored(_ link: Link, _ bearer: ATTBearer) {
        guard link.isConnected else { return }
        bearer.updateSecurity()
        for handle in untold.sorted() where link.isConnected {
            let isProtected = link.localServer.withDatabase {
                bearer.core.server.isProtected(for: handle, database: $0)
            }
            guard isProtected else { continue }
            untold.remove(handle)
            guard let configuration = bearer.client.configurations[handle] else { continue }
            link.tell(PeerSubscription(characteristic: handle, configuration: configuration))
        }
        if untold.isEmpty, !isReturn { bearer.peerClient.onRequest = nil }
    }

    /// Whether the program has not been told of a subscription yet.
    func isUntold(_ handle: AttributeHandle) -> Bool { untold.contains(handle) }

    /// The program need not be told of a restored subscription any more; says whether it was to be.
    func forgetUntold(_ handle: AttributeHandle) -> Bool { untold.remove(handle) != nil }

    /// The controller has told that the link is encrypted now; the host may not have taken that in yet.
    func linkIsEncrypted(_ link: Link) {
        wasEncrypted = true
        // A pairing on this link is no use of the bond from an earlier one.
        if link.isPairedAnew { isReturn = false }
        // Whatever was asked or shown is settled: without bonding nothing else tells of the pairing's end.
        link.pairings?.isOver(link.addresses)
        guard let bearer = try? link.bearer(for: .init("tell of changes", peer: link.peer)) else { return }
        bearer.peerClient.isToldEncrypted = true
        restore(link)
    }

    /// Has what a bonded client wants to be sent kept.
    ///
    /// Over a link that is not encrypted anybody could claim to be that client.
    func keep(_ link: Link) {
        guard let bonds = link.bonds, let bond = link.bond, isEncrypted(link),
            let bearer = try? link.bearer(for: .init("keep subscriptions", peer: link.peer))
        else { return }
        // What was kept before has not been taken up.
        guard !awaitsRestoring else { return }
        let record = link.localServer.withDatabase { bearer.client.record(of: $0, after: bond.client) }
        if bond.client == nil, record.subscriptions.isEmpty, record.supportedFeatures.isEmpty { return }
        bonds.setClient(record, of: bond.identity)
    }
}

extension Link {
    /// The bond with the peer.
    fileprivate var bond: Bond? { bonds?.bond(with: identity) }

    /// Whether there is, or has been, a pairing on this link.
    fileprivate var isPairedAnew: Bool {
        protectionIfAny?.madeKey != nil || pairings?.isPairing(addresses) == true
    }

    fileprivate func heardName(of address: BluetoothAddress) -> String? {
        adapter?.heard.name(of: address)
    }

    fileprivate func noteHeardName(_ name: String) {
        adapter?.heard.note(name, of: peer)
    }
}
