import BluetoothPrimitives

/// What an adapter's ups and downs say of what has to be done for it to be ready.
struct AdapterUpkeep: Hashable {
    /// What the program wants of it.
    let wish: AdapterWish
    /// Whether the host has to be told of privacy again, having lost the adapter.
    private(set) var isPrivacyDue = false
    /// Whether it is to be on, as far as this program knows: it was when it was last seen, and nobody has powered it off.
    private(set) var isMeantOn = true
    /// Whether this program has powered it off.
    var isSwitchedOffHere = false

    init(_ wish: AdapterWish) { self.wish = wish }

    /// Takes note of another state.
    mutating func stateChanged(from before: AdapterState, to now: AdapterState) {
        switch now {
        case .poweredOn: (isMeantOn, isSwitchedOffHere) = (true, false)
        case .poweredOff, .lowEnergyOff:
            // Somebody has done that, unless the adapter was away, or blocked.
            if before == .poweredOn { isMeantOn = wish.power == .keepOn && !isSwitchedOffHere }
        case .absent: isPrivacyDue = true
        case .blocked, .unsupported: break
        }
    }

    /// Takes note that the adapter was prepared, or that it was tried.
    mutating func prepared() { isPrivacyDue = false }

    /// Whether this program has to do something for the adapter to be ready.
    func isNeeded(in state: AdapterState, hidesAddress: Bool) -> Bool {
        switch state {
        case .poweredOff: isMeantOn && wish.power != .leave
        case .lowEnergyOff: isMeantOn
        // One that another program has switched on when it was plugged in again knows nothing of what is wanted here.
        case .poweredOn:
            isPrivacyDue && wish.power != .leave && wish.privacy.map { ($0 != .off) != hidesAddress } ?? false
        case .blocked, .absent, .unsupported: false
        }
    }
}
