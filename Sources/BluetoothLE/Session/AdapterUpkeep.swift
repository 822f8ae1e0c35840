import BluetoothPrimitives

/// The decision whether an adapter needs to be made ready again, derived from its changes of state.
struct AdapterUpkeep: Hashable {
    /// The settings the program requests.
    let wish: AdapterWish
    /// Whether the host needs the privacy setting again, since it has lost the adapter.
    private(set) var isPrivacyDue = false
    /// Whether the adapter should be on: it was when last seen, and no one has powered it off since.
    private(set) var isMeantOn = true
    /// Whether this program has powered the adapter off.
    var isSwitchedOffHere = false

    init(_ wish: AdapterWish) { self.wish = wish }

    /// Records a change of state.
    mutating func stateChanged(from before: AdapterState, to now: AdapterState) {
        switch now {
        case .poweredOn: (isMeantOn, isSwitchedOffHere) = (true, false)
        case .poweredOff, .lowEnergyOff:
            // Another program has powered it off, unless the adapter was absent or blocked before.
            if before == .poweredOn { isMeantOn = wish.power == .keepOn && !isSwitchedOffHere }
        case .absent: isPrivacyDue = true
        case .blocked, .unsupported: break
        }
    }

    /// Records that the adapter was prepared, successfully or not.
    mutating func prepared() { isPrivacyDue = false }

    /// Returns whether this program must act for the adapter to be ready.
    func isNeeded(in state: AdapterState, hidesAddress: Bool) -> Bool {
        switch state {
        case .poweredOff: isMeantOn && wish.power != .leave
        case .lowEnergyOff: isMeantOn
        // After hotplug another program may have powered it on, without the requested privacy.
        case .poweredOn:
            isPrivacyDue && wish.power != .leave && wish.privacy.map { ($0 != .off) != hidesAddress } ?? false
        case .blocked, .absent, .unsupported: false
        }
    }
}
