import BluetoothManagement

// The PHYs with which the kernel scans and connects, and which the controller prefers for links
// (`get_phy_configuration`, `set_phy_configuration`).
extension PHYConfiguration {
    /// All PHYs of a controller, selected.
    init(of controller: SimulatedController) {
        var all = ManagementPHYs()
        if controller.isDualMode { all.formUnion(.brEDR) }
        if controller.hasLE {
            all.formUnion(ManagementPHYs(controller.hasCoded ? [.le1M, .le2M, .leCoded] : [.le1M, .le2M]))
        }
        let configurable = all.subtracting([.br1MOneSlot, .le1MTransmit, .le1MReceive])
        self.init(supported: all, configurable: configurable, selected: all)
    }

    /// Selects PHYs; returns the reason of a refusal.
    mutating func select(_ phys: ManagementPHYs, isPowered: Bool) -> ManagementStatus? {
        guard phys.isSubset(of: supported), phys.isSuperset(of: supported.subtracting(configurable)) else {
            return .invalidParameters
        }
        guard phys != selected else { return nil }
        guard isPowered else { return .rejected }
        selected = phys
        return nil
    }
}
