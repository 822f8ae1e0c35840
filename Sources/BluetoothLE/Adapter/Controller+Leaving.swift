import BluetoothKernel

// The controller while its adapter is off or away: what is under way ends, and scans that are to be resumed wait.
extension Controller {
    /// Takes note that the adapter cannot be used for now.
    func leave(_ reason: BluetoothError) {
        close(reason, isForGood: false)
        for drain in holds.drains.values { drain.settle() }
    }

    /// Takes note that the adapter can be used again, as it is now.
    func comeBack(as information: AdapterInformation) {
        guard reopen(information.index, ownAddress: information.ownAddress) else { return }
        scanner.forgetController()
        if !audience.isEmpty { advanceScanner() }
        if links.connecting > 0 { followLinks() }
    }
}
