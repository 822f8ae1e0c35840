import BluetoothATT
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// A signer whose codes are the lengths of the signed PDUs.
private final class LengthSigner: AttributeSigner {
    private let counter = Mutex<UInt32>(7)
    private let end: UInt32

    init(end: UInt32 = .max) { self.end = end }

    func signature(of message: [UInt8]) throws(BluetoothError) -> ATTAuthenticationSignature {
        let value = counter.withLock { counter in
            defer { counter += 1 }
            return counter
        }
        guard value < end else { throw BluetoothError(.unsupported, .init("sign"), "no more") }
        return ATTAuthenticationSignature(signCounter: value, messageAuthenticationCode: UInt64(message.count))
    }
}

/// Signed Write Commands (Core Vol 3 Part G §4.9.2).
@Suite struct SigningTests {
    @Test func aValueGoesOutWithItsSignature() async throws {
        try await withConnection(
            Exchange("D2030001020700000005000000" + "00000000"),
            Exchange("D20300010203040506070808000000" + "0B00000000000000")
        ) { connection, _ in
            let signer = LengthSigner()
            try await connection.writeSigned([1, 2], to: AttributeHandle(3), signer: signer)
            try await connection.writeSigned([1, 2, 3, 4, 5, 6, 7, 8], to: AttributeHandle(3), signer: signer)
        }
    }

    @Test func unsignableWritesAreNotSent() async throws {
        try await withConnection { connection, _ in
            let signer = LengthSigner(end: 7)
            func code(_ attribute: some RemoteAttribute, _ count: Int) async -> BluetoothError.Code? {
                await failure {
                    try await connection.writeSigned([UInt8](repeating: 0, count: count), to: attribute, signer: signer)
                }?.code
            }
            #expect(await code(AttributeHandle(3), 9) == .invalidArgument)
            #expect(await code(AttributeHandle(3), 8) == .unsupported)
            let characteristic = RemoteCharacteristic(
                uuid: 0xFFF1, properties: .write, declarationHandle: 2, valueHandle: 3, endHandle: 3)
            #expect(await code(characteristic, 1) == .unsupported)
            await connection.disconnect()
            #expect(await code(AttributeHandle(3), 1) == .disconnected)
        }
    }

    @Test func anEncryptedLinkCarriesAPlainCommand() async throws {
        try await withConnection(Exchange("52030001")) { connection, socket in
            try socket.raiseSecurity(to: .medium)
            try await connection.writeSigned([1], to: AttributeHandle(3), signer: LengthSigner())
        }
    }
}
