import BluetoothPrimitives
import Testing

@testable import CoreBluetooth

@Suite struct WaitingCommandsTests {
    private var waiting = WaitingCommands()

    /// Begins `count` commands of a central; returns the number that were accepted.
    private mutating func begin(_ central: UInt64, count: Int = 1) -> Int {
        (0..<count).count(where: { _ in waiting.begin(of: BluetoothAddress(central, kind: .random)) })
    }

    private mutating func end(_ central: UInt64) { waiting.end(of: BluetoothAddress(central, kind: .random)) }

    @Test mutating func aCentralHasItsShareUntilTheProgramReceivesSome() {
        let first = begin(0, count: 300)
        let second = begin(1)
        end(0)
        let third = begin(0, count: 2)
        #expect(first == 256)
        #expect(second == 1)
        #expect(third == 1)
    }

    /// A central that comes again under other addresses leaves no more behind.
    @Test mutating func centralsAreBoundedTogether() {
        var accepted = 0
        for central in 0..<UInt64(100) { accepted += begin(central) }
        #expect(accepted == 64)
        let more = begin(0)
        end(0)
        let whileOneWaits = begin(100)
        end(0)
        let afterwards = begin(100)
        #expect(more == 1)
        #expect(whileOneWaits == 0)
        #expect(afterwards == 1)
    }
}
