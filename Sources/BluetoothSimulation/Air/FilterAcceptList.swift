import BluetoothHCI

/// A controller's filter accept list.
struct FilterAcceptList {
    private(set) var entries: [LEFilterAcceptListEntry] = []

    func contains(_ entry: LEFilterAcceptListEntry) -> Bool { entries.contains(entry) }

    /// Executes one of the commands that change the list.
    mutating func perform(_ command: AnyHCICommand) {
        if let entry = command.as(LEAddDeviceToFilterAcceptList.self)?.value {
            if !entries.contains(entry) { entries.append(entry) }
        } else if let entry = command.as(LERemoveDeviceFromFilterAcceptList.self)?.value {
            entries.removeAll { $0 == entry }
        } else {
            entries = []
        }
    }
}
