import BluetoothPrimitives

/// The commands of centrals that wait for the program, which have no response that a central would wait for: so many of
/// each central, and of so many centrals, since one may come again under another address.
struct WaitingCommands: Sendable {
    static let maximumPerCentral = 256
    static let maximumCentralCount = 64

    private var counts: [BluetoothAddress: Int] = [:]

    /// Counts a command; false if too many wait.
    mutating func begin(of central: BluetoothAddress) -> Bool {
        let count = counts[central] ?? 0
        guard count > 0 || counts.count < Self.maximumCentralCount, count < Self.maximumPerCentral else { return false }
        counts[central] = count + 1
        return true
    }

    /// Removes a command that the program has received.
    mutating func end(of central: BluetoothAddress) {
        let count = (counts[central] ?? 0) - 1
        counts[central] = count > 0 ? count : nil
    }
}
