import BluetoothHost
import HCI

extension ScanSettings {
    /// What somebody told the controller; nil for any other command.
    init?(_ command: HCICommand) {
        switch command {
        case .leSetScanParameters(let parameters):
            self.init(le1M: parameters.timing, filterPolicy: parameters.filterPolicy)
        case .leSetExtendedScanParameters(let parameters):
            self.init(le1M: parameters.le1M, leCoded: parameters.leCoded, filterPolicy: parameters.filterPolicy)
        default: return nil
        }
    }

    /// The least of an active scan there is: it listens for 2.5 ms of 10.24 s and asks nobody for a scan response that
    /// is not on the accept list.
    package static let leastActive = ScanSettings(
        le1M: LEScanTiming(type: .active, interval: 0x4000, window: 4), filterPolicy: .acceptList)

    /// Whether Linux takes it for a discovery: it looks at the first PHY only.
    package var isDiscovery: Bool { (le1M ?? leCoded)?.type == .active }

    /// Whether who asks for `other` hears from this all that it would from its own.
    package func serves(_ other: ScanSettings) -> Bool {
        filterPolicy == .all && united(with: other) == self
    }
}
