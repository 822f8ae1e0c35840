import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives
import Management

// What the kernel tells of an adapter.
extension AdapterInformation {
    /// What the kernel's management interface tells of an adapter.
    package init(_ read: ControllerInformation, index: UInt16) {
        self.init(
            index: index, publicAddress: read.address, manufacturer: CompanyIdentifier(read.manufacturer),
            version: read.bluetoothVersion, localName: read.name, supportedSettings: read.supportedSettings,
            currentSettings: read.currentSettings)
    }

    /// Takes over what the radio switch of this adapter says.
    package mutating func take(_ switches: [HostEnvironment.RadioSwitch]) {
        let own = switches.first { $0.name == name }
        isSoftBlocked = own?.isSoftBlocked ?? false
        isHardBlocked = own?.isHardBlocked ?? false
    }
}
