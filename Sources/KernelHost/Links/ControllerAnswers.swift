import HCI

extension HCIReturnParameters {
    /// Whether this can be the answer to `command`: one about another link is somebody else's.
    package func mayAnswer(_ command: HCICommand) -> Bool {
        switch (command, self) {
        case (.readRSSI(let asked), .rssi(let told, _)): asked == told
        case (.readTransmitPowerLevel(let asked, _), .transmitPower(let told, _)): asked == told
        case (.leReadPHY(let asked), .phys(let told)): asked == told.handle
        case (.leSetDataLength(let asked, _, _), .dataLengthSet(let told)): asked == told
        default: true
        }
    }
}
