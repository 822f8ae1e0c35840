import BluetoothPrimitives

/// The decision whether an adapter needs to be made ready again, derived from its changes of state.
struct RestorationRules: Hashable {
    /// The settings the program requests.
    let requirements: AdapterRequirements
    /// Whether the host needs the privacy setting again, since it has lost the adapter.
    private(set) var isPrivacyDue = false
    /// Whether the adapter should be on: it was when last seen, and no one has powered it off since.
    private(set) var isMeantOn = true
    /// Whether this program has powered the adapter off.
    var isSwitchedOffHere = false
    /// Whether a recovery step removed a powered adapter, which must be powered on again.
    private(set) var isTakenByRecovery = false

    init(_ requirements: AdapterRequirements) { self.requirements = requirements }

    /// Records that this program powers the adapter off, which may be off already because somebody else has.
    mutating func switchOff(in state: AdapterState) {
        isSwitchedOffHere = true
        if state != .poweredOn { isMeantOn = false }
    }

    /// Records a change of state, caused by a step of the recovery or not.
    mutating func stateChanged(from before: AdapterState, to now: AdapterState, byRecovery isRecovery: Bool = false) {
        if isRecovery, before == .poweredOn { isTakenByRecovery = true }
        switch now.kind {
        case .poweredOn: (isMeantOn, isSwitchedOffHere, isTakenByRecovery) = (true, false, false)
        case .poweredOff, .lowEnergyOff:
            if isTakenByRecovery { return }
            // Another program has powered it off, unless the adapter was absent or blocked before.
            if before == .poweredOn { isMeantOn = requirements.power == .keepOn && !isSwitchedOffHere }
        case .absent: isPrivacyDue = true
        case .blocked, .unsupported: break
        }
    }

    /// Records that the adapter was prepared, successfully or not.
    mutating func prepared() { isPrivacyDue = false }

    /// Whether this program may power the adapter on.
    var mayPowerOn: Bool { requirements.power != .leave || isTakenByRecovery }

    /// Returns whether this program must act for the adapter to be ready.
    func isNeeded(in state: AdapterState, hidesAddress: Bool) -> Bool {
        switch state.kind {
        case .poweredOff: isMeantOn && mayPowerOn
        case .lowEnergyOff: isMeantOn
        // After hotplug another program may have powered it on, without the requested privacy.
        case .poweredOn:
            isPrivacyDue && requirements.power != .leave
                && requirements.privacy.map { ($0 != .off) != hidesAddress } ?? false
        case .blocked, .absent, .unsupported: false
        }
    }
}
