// The snippets of Docs/Guide/Security.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Security.md
enum SecurityPage {
    /// Levels
    static func levels(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let options = ConnectionOptions(security: SecurityOptions(.medium))
        let connection = try await adapter.connect(to: address, options: options)
        let security = try await connection.security()
        print(security, security.isEncrypted, security.isAuthenticated)
        try await connection.raiseSecurity(to: .medium)
    }

    /// Security that a device requires
    static func securityThatADeviceRequires(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let options = ConnectionOptions(security: SecurityOptions(policy: .never))
        let connection = try await adapter.connect(to: address, options: options)
        print(try await connection.security().level)
    }

    /// Pairing
    static func pairing(_ adapter: Adapter, _ connection: Connection) async throws {
        try await adapter.setPairingAgent(JustWorksPairingAgent())
        let outcome = try await connection.pair(to: .medium)
        print(outcome.security, outcome.isBonded ? "bonded" : "not bonded")
    }

    /// Pairing
    static func pairing2(_ adapter: Adapter) async throws {
        struct Agent: PairingAgent {
            var ioCapability: IOCapability { .displayYesNo }
            func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool {
                print("does \(request.peer) show \(number.digits)?")
                return true
            }
        }
        try await adapter.setPairingAgent(Agent(), secureConnections: .only)
    }

    /// Out-of-band data
    static func outOfBandData(_ connection: Connection) async throws {
        func scanned(_ code: String) async throws {
            let data = try OutOfBandData(text: code)
            let outcome = try await connection.pair(with: data)
            print(outcome.security.isAuthenticated)
        }
    }

    /// Out-of-band data
    static func outOfBandData2(_ adapter: Adapter) async throws {
        let own = try await adapter.makeOutOfBandData()
        print(own.text.prefix(8), own.nfcMessage.count, own.structures.count)
    }

    /// A minimum key size
    static func aMinimumKeySize(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let secured = ConnectionOptions(security: SecurityOptions(.medium, minimumKeySize: 16))
        let connection = try await adapter.connect(to: address, options: secured)
        print(try await connection.security().keySize)
    }
}
