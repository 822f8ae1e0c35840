import Testing

import BluetoothLE

/// Bonds and identities as the bytes that a store of a program's own keeps.
@Suite struct StoredBondTests {
    private let adapter = BondSamples.adapter

    @Test func aBondIsRestoredWithAllOfItsKeys() throws {
        let bond = BondSamples.bond()
        #expect(try Bond(stored: try bond.stored(for: adapter), for: adapter) == bond)
    }

    @Test func bytesOfAnotherAdapterAndDamagedBytesAreRefused() throws {
        let bytes = try BondSamples.bond().stored(for: adapter)
        func message(_ bytes: [UInt8], _ adapter: BluetoothAddress) -> String? {
            do throws(BluetoothError) {
                _ = try Bond(stored: bytes, for: adapter)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(message(bytes, BondSamples.peer) == "The bytes belong to another adapter.")
        // The version follows the eight bytes that name the kind of record.
        var later = bytes
        later[8] = 2
        #expect(message(later, adapter) == "The bytes have format 2, from a later version of this library.")
        for count in 0..<bytes.count { #expect(message(Array(bytes.prefix(count)), adapter) != nil) }
        for position in bytes.indices {
            var damaged = bytes
            damaged[position] ^= 0x40
            #expect(message(damaged, adapter) != nil, "byte \(position)")
        }
    }

    @Test func anIdentityIsRestoredForItsPlaceOnly() throws {
        var generator = SystemRandomNumberGenerator()
        let identity = LocalIdentity(
            staticAddress: .randomStatic(using: &generator), identityResolvingKey: BondSamples.key(3))
        let bytes = identity.stored(forAdapterAt: "usb1/1-3")
        #expect(try LocalIdentity(stored: bytes, forAdapterAt: "usb1/1-3") == identity)
        #expect(throws: BluetoothError.self) { try LocalIdentity(stored: bytes, forAdapterAt: "usb1/1-4") }
        #expect(throws: BluetoothError.self) {
            try LocalIdentity(stored: Array(bytes.dropLast()), forAdapterAt: "usb1/1-3")
        }
    }
}
