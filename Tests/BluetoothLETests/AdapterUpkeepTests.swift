import BluetoothPrimitives
import Testing

@testable import BluetoothLE

/// The automatic restoration of an adapter, for every change of its state.
@Suite struct AdapterUpkeepTests {
    private static let states: [AdapterState] = [
        .poweredOn, .lowEnergyOff, .poweredOff, .blocked(isHard: false), .blocked(isHard: true), .absent, .unsupported,
    ]

    /// The expectation for each new state by power policy: `-` no restoration, `+` restoration, `o` restoration unless
    /// another program has powered off the adapter while it was on.
    @Test(arguments: [
        (PowerPolicy.leave, "-o-----"), (.powerOn, "-oo----"), (.keepOn, "-++----"),
    ])
    func everyChangeInEveryState(_ power: PowerPolicy, _ expected: String) {
        for before in Self.states {
            for (now, mark) in zip(Self.states, expected) where now != before {
                for isSwitchedOffHere in [false, true] {
                    var upkeep = AdapterUpkeep(AdapterWish(power: power))
                    upkeep.isSwitchedOffHere = isSwitchedOffHere
                    upkeep.stateChanged(from: before, to: now)
                    // Only an adapter that was on is powered off; this program's own request counts even with `keepOn`.
                    let isSwitchedOff = before == .poweredOn && (mark == "o" || isSwitchedOffHere)
                    let isExpected = mark != "-" && !isSwitchedOff
                    #expect(
                        upkeep.isNeeded(in: now, hidesAddress: false) == isExpected, "\(power): \(before) to \(now)")
                }
            }
        }
    }

    @Test(arguments: Self.states)
    func oneThatIsSeenOnIsMeantToBeOnAgain(_ state: AdapterState) {
        var upkeep = AdapterUpkeep(AdapterWish(power: .powerOn))
        upkeep.stateChanged(from: .poweredOn, to: .poweredOff)
        #expect(!upkeep.isNeeded(in: .poweredOff, hidesAddress: false))
        upkeep.stateChanged(from: .poweredOff, to: state)
        upkeep.stateChanged(from: state, to: .poweredOn)
        upkeep.stateChanged(from: .absent, to: .poweredOff)
        #expect(upkeep.isNeeded(in: .poweredOff, hidesAddress: false))
        #expect(!upkeep.isSwitchedOffHere)
    }

    /// An adapter that was plugged in again has lost the privacy setting, until it was prepared.
    @Test(arguments: [PrivacyMode?.none, .off, .on], [false, true])
    func privacyIsAskedForAgain(_ privacy: PrivacyMode?, hidesAddress: Bool) {
        for power in [PowerPolicy.leave, .powerOn, .keepOn] {
            var upkeep = AdapterUpkeep(AdapterWish(power: power, privacy: privacy))
            #expect(!upkeep.isNeeded(in: .poweredOn, hidesAddress: hidesAddress))
            upkeep.stateChanged(from: .poweredOn, to: .absent)
            upkeep.stateChanged(from: .absent, to: .poweredOn)
            let isExpected = power != .leave && privacy != nil && (privacy != .off) != hidesAddress
            #expect(upkeep.isNeeded(in: .poweredOn, hidesAddress: hidesAddress) == isExpected)
            upkeep.prepared()
            #expect(!upkeep.isNeeded(in: .poweredOn, hidesAddress: hidesAddress))
        }
    }
}
