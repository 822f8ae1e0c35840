import BluetoothGATT
import BluetoothPrimitives
import BluetoothSystem
import Glibc
import Testing

import BluetoothLE

/// Bonds with fixed keys, and a directory for their files.
enum BondSamples {
    static let adapter = BluetoothAddress(0x0011_2233_4455, kind: .public)
    static let peer = BluetoothAddress(0xC098_E512_3456, kind: .random)

    /// Sixteen bytes that occur nowhere else.
    static func key(_ number: UInt8) -> SecurityKey {
        SecurityKey((0..<16).map { 0xA0 ^ number &* 16 ^ $0 }) ?? .zero
    }

    static func bond(
        _ peer: BluetoothAddress = peer, first: UInt8 = 1, name: String? = "Thermometer"
    ) -> Bond {
        Bond(
            identity: peer,
            longTermKeys: [
                LongTermKey(
                    address: peer, kind: .authenticatedLegacy, isCentral: false, encryptionSize: 7,
                    encryptedDiversifier: 0x1234, randomNumber: 0x0102_0304_0506_0708, value: key(first)),
                LongTermKey(
                    address: peer, kind: .authenticatedLegacy, isCentral: true, encryptionSize: 16,
                    encryptedDiversifier: 0x4321, randomNumber: 0x0807_0605_0403_0201, value: key(first + 1)),
            ],
            identityResolvingKey: key(first + 2),
            name: name, time: 1_700_000_000,
            client: GATTClientRecord(
                subscriptions: [
                    .init(characteristic: 0x12, type: 0xFFF1, configuration: [.notification, .indication])
                ],
                supportedFeatures: [3], knownDatabase: DatabaseHash([UInt8](1...16))))
    }

    /// Runs `body` with the path of a directory that does not exist yet, and removes it with its content.
    static func withDirectory(_ body: (String) async throws -> Void) async throws {
        let directory =
            (SystemFiles.environment("TMPDIR") ?? "/tmp")
            + "/bonds-\(getpid())-\(UInt32.random(in: .min ... .max))"
        let result: Result<Void, any Error>
        do { result = .success(try await body(directory)) } catch { result = .failure(error) }
        for folder in try SystemFiles.names(in: directory) {
            unlink("\(directory)/\(folder)")
            for name in try SystemFiles.names(in: "\(directory)/\(folder)") {
                try SystemFiles.remove("\(directory)/\(folder)/\(name)")
            }
            rmdir("\(directory)/\(folder)")
        }
        #expect(rmdir(directory) == 0 || errno == ENOENT, "something was left")
        try result.get()
    }
}
