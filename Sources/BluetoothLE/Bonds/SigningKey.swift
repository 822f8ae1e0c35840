import BluetoothATT
import BluetoothCryptography
import Synchronization

/// A signer of Signed Write Commands (Core Vol 3 Part H §2.4.5).
///
/// ``SigningKey`` is a signer with the key in memory.
package protocol AttributeSigner: Sendable {
    /// Returns the signature of a PDU: its opcode, handle and value as sent.
    ///
    /// Each call consumes one value of the counter.
    /// - Throws: when the counter is exhausted.
    func signature(of message: [UInt8]) throws(BluetoothError) -> ATTAuthenticationSignature
}

/// A connection signature resolving key (CSRK) with its counter (Core Vol 3 Part H §2.4.5).
///
/// Signs writes to a peer that received the key in pairing. The
/// counter must never decrease: a program that stores the key stores ``signCounter`` with it, at the latest before the
/// link on which it was used ends.
public final class SigningKey: AttributeSigner {
    private let key: UInt128
    private let counter: Mutex<UInt32?>

    /// Creates a key in the byte order of its distribution: sixteen bytes, least significant first. Nil for any other
    /// number of bytes.
    /// - Parameters:
    ///   - bytes: the key.
    ///   - signCounter: the first counter value to sign with.
    public init?(_ bytes: [UInt8], signCounter: UInt32 = 0) {
        guard bytes.count == 16 else { return nil }
        key = bytes.reversed().reduce(0) { $0 << 8 | UInt128($1) }
        counter = Mutex(signCounter)
    }

    /// The key in the byte order of its distribution.
    var bytes: [UInt8] { (0..<16).map { UInt8(truncatingIfNeeded: key >> (8 * UInt128($0))) } }

    /// The next counter value to sign with; nil when all have been used.
    public var signCounter: UInt32? { counter.withLock { $0 } }

    /// Signs a PDU and increments the counter.
    /// - Throws: `.unsupported` when all 2³² values have been used.
    package func signature(of message: [UInt8]) throws(BluetoothError) -> ATTAuthenticationSignature {
        let value = counter.withLock { counter in
            defer { counter = counter.flatMap { $0 == .max ? nil : $0 + 1 } }
            return counter
        }
        guard let value else {
            throw BluetoothError(
                .unsupported, .init("sign"), "The counter of this key is exhausted.",
                remedy: "Pair with the device again for a new key.")
        }
        return ATTAuthenticationSignature(
            signCounter: value, messageAuthenticationCode: code(of: message, counter: value))
    }

    /// Returns whether a peer's signature of a PDU is valid and its counter value new; the counter then moves past that
    /// value.
    package func accepts(_ signature: ATTAuthenticationSignature, of message: [UInt8]) -> Bool {
        let code = code(of: message, counter: signature.signCounter)
        // A constant-time comparison.
        let isRight = code ^ signature.messageAuthenticationCode == 0
        return counter.withLock { counter in
            guard isRight, let least = counter, signature.signCounter >= least else { return false }
            counter = signature.signCounter == .max ? nil : signature.signCounter + 1
            return true
        }
    }

    /// The upper half of the AES-CMAC over message and counter, all of it the most significant byte first.
    private func code(of message: [UInt8], counter: UInt32) -> UInt64 {
        let number = (0..<4).map { UInt8(truncatingIfNeeded: counter >> (8 * $0)) }
        let code = AESCMAC.code(of: ((message + number).reversed() as [UInt8]), key: key)
        return UInt64(truncatingIfNeeded: code >> 64)
    }
}

extension SigningKey: CustomReflectable {
    /// A mirror without the key, so that `dump` does not show it.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
