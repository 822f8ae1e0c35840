import Testing

@testable import BluetoothLE

/// The automatic restoration of an adapter, for every change of its state.
@Suite struct RestorationRulesTests {
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
                    var rules = RestorationRules(AdapterRequirements(power: power))
                    rules.isSwitchedOffHere = isSwitchedOffHere
                    rules.stateChanged(from: before, to: now)
                    // Only an adapter that was on is powered off; this program's own request counts even with `keepOn`.
                    let isSwitchedOff = before == .poweredOn && (mark == "o" || isSwitchedOffHere)
                    let isExpected = mark != "-" && !isSwitchedOff
                    #expect(
                        rules.isNeeded(in: now, hidesAddress: false) == isExpected, "\(power): \(before) to \(now)")
                }
            }
        }
    }

    @Test(arguments: Self.states)
    func anAdapterSeenOnIsRestoredAgain(_ state: AdapterState) {
        var rules = RestorationRules(AdapterRequirements(power: .powerOn))
        rules.stateChanged(from: .poweredOn, to: .poweredOff)
        #expect(!rules.isNeeded(in: .poweredOff, hidesAddress: false))
        rules.stateChanged(from: .poweredOff, to: state)
        rules.stateChanged(from: state, to: .poweredOn)
        rules.stateChanged(from: .absent, to: .poweredOff)
        #expect(rules.isNeeded(in: .poweredOff, hidesAddress: false))
        #expect(!rules.isSwitchedOffHere)
    }

    /// This program powers off what somebody else has powered off before, and what was to be on.
    @Test(arguments: states.dropFirst()) func anAdapterThatWasOffIsSwitchedOffHere(_ state: AdapterState) {
        var rules = RestorationRules(AdapterRequirements(power: .keepOn))
        rules.stateChanged(from: .poweredOn, to: state)
        rules.switchOff(in: state)
        for now in [state, .absent, .blocked(isHard: true), .poweredOff] {
            rules.stateChanged(from: state, to: now)
            #expect(!rules.isNeeded(in: .poweredOff, hidesAddress: false))
        }
        rules.stateChanged(from: .poweredOff, to: .poweredOn)
        rules.stateChanged(from: .poweredOn, to: .poweredOff)
        #expect(rules.isNeeded(in: .poweredOff, hidesAddress: false))
    }

    /// An adapter that was plugged in again has lost the privacy setting, until it was prepared.
    @Test(arguments: [PrivacyMode?.none, .off, .on], [false, true])
    func privacyIsRequestedAgain(_ privacy: PrivacyMode?, hidesAddress: Bool) {
        for power in [PowerPolicy.leave, .powerOn, .keepOn] {
            var rules = RestorationRules(AdapterRequirements(power: power, privacy: privacy))
            #expect(!rules.isNeeded(in: .poweredOn, hidesAddress: hidesAddress))
            rules.stateChanged(from: .poweredOn, to: .absent)
            rules.stateChanged(from: .absent, to: .poweredOn)
            let isExpected = power != .leave && privacy != nil && (privacy != .off) != hidesAddress
            #expect(rules.isNeeded(in: .poweredOn, hidesAddress: hidesAddress) == isExpected)
            rules.prepared()
            #expect(!rules.isNeeded(in: .poweredOn, hidesAddress: hidesAddress))
        }
    }
}
