import BluetoothGATT
import BluetoothPrimitives
import BluetoothSockets

extension AdapterSession {
    func removeBond(with identity: BluetoothAddress) async throws(BluetoothError) {
        let key = AttributeCacheKey(adapter: information.address, peer: identity)
        await linkMaker.attributeCache?.setDatabase(nil, for: key)
        try await bondManager.remove(identity)
    }

    func setBond(_ bond: Bond) async throws(BluetoothError) {
        guard bond.identity.isIdentity else {
            throw .invalidArgument(
                .init("store the bond", peer: bond.identity),
                "\(bond.identity.digits) is not an identity address (public or static random).")
        }
        guard bond.longTermKeys.allSatisfy({ LongTermKey.encryptionSizes.contains($0.encryptionSize) }) else {
            throw .invalidArgument(
                .init("store the bond", peer: bond.identity), "The encryption key size must be 7 to 16 bytes.")
        }
        try await bondManager.set(bond)
    }
}
