import BluetoothPrimitives
import Testing

@testable import BluetoothLE

/// When this program brings an adapter back by itself, for each way it may have come to stand as it does.
@Suite struct AdapterUpkeepTests {
    private static let states: [AdapterState] = [
        .poweredOn, .lowEnergyOff, .poweredOff, .blocked(isHard: false), .blocked(isHard: true), .absent, .unsupported,
    ]

    /// What is expected after a change from any state to each, by what the program wants: `-` nothing is to be done,
    /// `+` it is brought back, `o` it is unless somebody has switched it off while it was on.
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
                    // Only one that is on is switched off; by this program, even where it is to be kept on.
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

    /// One that was plugged in again knows nothing of privacy, until it was prepared.
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
