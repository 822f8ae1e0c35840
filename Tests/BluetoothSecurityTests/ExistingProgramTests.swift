import BluetoothSecurity
import Testing

/// Programs that were written when the module had more in it than a name.
@Suite struct ExistingProgramTests {
    @available(*, deprecated)
    private static func setUp(_ adapter: Adapter) async {
        await adapter.setAddressResolver(PrivateAddressResolver())
    }

    @Test func whatTheyImportIsFound() throws {
        let key = try #require(SigningKey([UInt8](repeating: 1, count: 16)))
        let checker = try #require(SigningKey([UInt8](repeating: 1, count: 16)))
        #expect(checker.accepts(try key.signature(of: [1, 2]), of: [1, 2]))
    }
}
