import BluetoothHCI

/// A controller's filter accept list.
struct FilterAcceptList {
    private(set) var entries: [LEFilterAcceptListEntry] = []

    func contains(_ entry: LEFilterAcceptListEntry) -> Bool { entries.contains(entry) }

    /// Executes one of the commands that change the list.
    mutating func perform(_ command: HCICommand) {
        switch command {
        case .leAddDeviceToFilterAcceptList(let entry):
            if !entries.contains(entry) { entries.append(entry) }
        case .leRemoveDeviceFromFilterAcceptList(let entry): entries.removeAll { $0 == entry }
        default: entries = []
        }
    }
}
