import Synchronization

import BluetoothLE

/// A store on a disk that can be full, or broken.
final class FailingStore: BondStore {
    let isFull: Mutex<Bool>
    let isUnreadable = Mutex(false)
    let memory = MemoryBondStore()
    let error = BluetoothError(.storageFailed, .init("store the bond"), "The disk is full.")

    init(isFull: Bool = true) {
        self.isFull = Mutex(isFull)
    }

    private func check() throws(BluetoothError) {
        if isFull.withLock({ $0 }) { throw error }
    }

    func bonds(of adapter: BluetoothAddress) async throws(BluetoothError) -> [Bond] {
        if isUnreadable.withLock({ $0 }) { throw error }
        return memory.bonds(of: adapter)
    }

    func save(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) {
        try check()
        memory.save(bond, of: adapter)
    }

    func update(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) -> Bool {
        try check()
        return memory.update(bond, of: adapter)
    }

    func removeBond(with identity: BluetoothAddress, of adapter: BluetoothAddress) async throws(BluetoothError) {
        try check()
        memory.removeBond(with: identity, of: adapter)
    }

    func localIdentity(
        ofAdapterAt place: String, orStore proposal: LocalIdentity?
    ) async throws(BluetoothError) -> LocalIdentity? {
        try check()
        return memory.localIdentity(ofAdapterAt: place, orStore: proposal)
    }
}
