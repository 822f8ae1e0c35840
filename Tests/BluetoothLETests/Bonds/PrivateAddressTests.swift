import BluetoothLE
import BluetoothPrimitives
import TestSupport
import Testing

/// Private addresses against the specification's sample data (Core Vol 3 Part H §D.7).
@Suite struct PrivateAddressTests {
    private static let key = SecurityKey(hex("EC0234A357C8AD05341010A60A397D9B").reversed())
    private static let other = SecurityKey([UInt8](repeating: 7, count: 16))

    @Test func anAddressBelongsToTheKeyItWasMadeWith() throws {
        let resolver = PrivateAddressResolver()
        let key = try #require(Self.key)
        let address = BluetoothAddress(0x7081_940D_FBAA, kind: .random)
        #expect(resolver.matches(address, key))
        #expect(!resolver.matches(address, try #require(Self.other)))
        for bit in 0..<48 {
            #expect(!resolver.matches(BluetoothAddress(address.value ^ 1 << bit, kind: .random), key))
        }
        // An address that is not private never matches, whatever its bits.
        #expect(!resolver.matches(BluetoothAddress(address.value, kind: .public), key))
    }

    @Test(.seeded) func generatedAddressesMatchTheirKeyOnly() throws {
        let resolver = PrivateAddressResolver()
        let (key, other) = (try #require(Self.key), try #require(Self.other))
        var generator = SeededGenerator()
        for _ in 0..<50 {
            let address = try #require(resolver.address(with: key, using: &generator))
            #expect(address.randomKind == .resolvablePrivate)
            #expect(resolver.matches(address, key))
            #expect(!resolver.matches(address, other))
        }
    }
}
