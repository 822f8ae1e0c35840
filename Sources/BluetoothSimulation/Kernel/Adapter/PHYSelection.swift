import BluetoothHCI
import BluetoothManagement

/// The PHYs with which the kernel scans and connects, and which the controller prefers for links
/// (`get_phy_configuration`, `set_phy_configuration`).
struct PHYSelection {
    private let supported: ManagementPHYs
    private(set) var selected: ManagementPHYs

    init(of controller: SimulatedController) {
        var all = ManagementPHYs()
        if controller.isDualMode { all.formUnion(.brEDR) }
        if controller.hasLE {
            all.formUnion(ManagementPHYs(controller.hasCoded ? [.le1M, .le2M, .leCoded] : [.le1M, .le2M]))
        }
        (supported, selected) = (all, all)
    }

    /// Those of LE.
    var lePHYs: LEPHYSet { selected.lePHYs }

    /// Returns to all that are supported, as the kernel does whenever it powers the adapter on.
    mutating func reset() { selected = supported }

    var configuration: PHYConfiguration {
        PHYConfiguration(supported: supported, configurable: supported.subtracting(Self.mandatory), selected: selected)
    }

    /// The PHYs that cannot be deselected.
    private static let mandatory: ManagementPHYs = [.br1MOneSlot, .le1MTransmit, .le1MReceive]

    /// Selects PHYs; returns the reason of a refusal.
    mutating func select(_ phys: ManagementPHYs, isPowered: Bool) -> ManagementStatus? {
        guard phys.isSubset(of: supported), phys.isSuperset(of: supported.intersection(Self.mandatory)) else {
            return .invalidParameters
        }
        guard phys != selected else { return nil }
        guard isPowered else { return .rejected }
        selected = phys
        return nil
    }
}
