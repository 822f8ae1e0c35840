import BluetoothAdvertising
import BluetoothLE
import BluetoothSimulation
import Glibc

/// The centrals that visit the programs in the peripheral role, on the machine's other adapter.
enum Visitors {
    typealias Visit = @Sendable (Adapter) async throws -> Void

    /// The visit of each program in the peripheral role.
    static let all: [String: Visit] = [
        "BatteryPeripheral": { adapter in
            let connection = try await adapter.connect { $0.localName == "Battery" }
            let level = try await connection.read(.batteryLevel, in: .battery)
            try expect(level.count == 1 && (90...97).contains(level.first ?? 0))
        },
        "Beacon": { adapter in
            _ = try await adapter.firstAdvertisement { $0.beacon(IBeacon.self)?.minor == 43 }
            _ = try await adapter.firstAdvertisement {
                $0.beacon(Eddystone.self) == .url("https://swift.org", txPower: -20)
            }
        },
        "ChannelEcho": { adapter in
            let found = try await adapter.firstAdvertisement { $0.localName == "Echo" }
            guard let address = found.address else { return try expect(false) }
            let channel = try await adapter.openChannel(to: address, psm: 0x0085)
            try await channel.write([1, 2, 3])
            try expect(try await channel.read() == [1, 2, 3])
            await channel.close()
        },
        "ShowPasskey": { adapter in
            try await adapter.setPairingAgent(PasskeyReader())
            let connection = try await adapter.connect { $0.localName == "Safe" }
            try expect(try await connection.read("FFF2", in: "FFF0") == [1, 2, 3])
        },
        "WriteHandler": { adapter in
            let connection = try await adapter.connect { $0.localName == "Thermostat" }
            try await connection.write([22], to: "FFF1", in: "FFF0")
            // Too hot.
            try expect(await isRefused([31], connection))
            try expect(try await connection.read("FFF1", in: "FFF0") == [22])
        },
    ]

    /// Ends the process with an error unless the visit succeeds.
    static func run(_ visit: Visit) async {
        do {
            try await visit(try await Adapter.open(.index(1), power: .powerOn, on: .environment))
            print(finished)
        } catch {
            print("the visit failed:", error)
            exit(70)
        }
    }

    private static let finished = "(visited)"

    private static func isRefused(_ value: [UInt8], _ connection: Connection) async -> Bool {
        do throws(BluetoothError) {
            try await connection.write(value, to: "FFF1", in: "FFF0")
            return false
        } catch {
            return error.code == .attributeProtocol
        }
    }

    private struct Unexpected: Error {}

    private static func expect(_ condition: Bool) throws {
        if !condition { throw Unexpected() }
    }
}

/// A user with a keyboard, who enters the passkey that the program prints.
private struct PasskeyReader: PairingAgent {
    var ioCapability: IOCapability { .keyboardOnly }

    func enterPasskey(_ request: PairingRequest) async throws -> Passkey? {
        for await line in Screen.lines {
            for word in line.split(separator: " ") where word.count == 6 {
                if let passkey = Passkey(digits: word) { return passkey }
            }
        }
        return nil
    }
}

/// The newest lines of the program, for its visitor.
private enum Screen {
    static let (lines, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(16))
}

/// Prints a line that a visitor can read, too. The compiler prefers it to the standard library's.
func print(_ items: Any...) {
    let line = items.map { "\($0)" }.joined(separator: " ")
    Screen.continuation.yield(line)
    Swift.print(line)
}
