import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

/// Whether an adapter hides its address, and behind which ones.
struct AdapterPrivacy {
    var mode = PrivacyMode.off
    var key = SecurityKey.zero
    /// The address of connections, scans and legacy advertising; nil where the next use makes one.
    var address: BluetoothAddress?
    /// Those of advertising sets, by the numbers of their instances.
    var advertised: [UInt8: BluetoothAddress] = [:]
    /// When they have been used for long enough.
    var expiry: ScheduledEvent?
}

extension Adapter {
    /// How long the kernel uses a private address (`HCI_DEFAULT_RPA_TIMEOUT`).
    private static let privateAddressTime = Duration.seconds(900)

    /// Whether an instance shows a private address: in limited privacy not while the adapter can be found and bonded with.
    func usesPrivateAddress(_ flags: AdvertisingInstanceFlags) -> Bool {
        switch privacy.mode {
        case .off: false
        case .limited: !configured.isBondable || flags.isDisjoint(with: [.generalDiscoverable, .limitedDiscoverable])
        default: true
        }
    }

    func ownAddressType(_ flags: AdvertisingInstanceFlags) -> LEOwnAddressType {
        usesPrivateAddress(flags) || identityAddress.kind == .random ? .random : .public
    }

    /// The adapter is on.
    func beginPrivacy() {
        controller.identityResolvingKey =
            privacy.mode == .off ? nil : IdentityResolvingKey(address: identityAddress, value: privacy.key)
    }

    /// The adapter goes off; it comes back with other addresses.
    func endPrivacy() {
        privacy.expiry?.cancel()
        (privacy.address, privacy.advertised) = (nil, [:])
    }

    /// Gives the controller the private address of what is about to begin, unless it uses one already.
    func updateRandomAddress() {
        guard privacy.mode != .off, !controller.scanner.isEnabled, !controller.advertising.isLegacyEnabled else {
            return
        }
        let address = privacy.address ?? makePrivateAddress()
        privacy.address = address
        if controller.randomAddress != address { perform(.leSetRandomAddress(address)) }
    }

    func privateAddress(ofInstance number: UInt8) -> BluetoothAddress {
        let address = privacy.advertised[number] ?? makePrivateAddress()
        privacy.advertised[number] = address
        return address
    }

    private func makePrivateAddress() -> BluetoothAddress {
        privacy.expiry?.cancel()
        privacy.expiry = world.schedule(after: Self.privateAddressTime) { [weak self] in
            guard let self, isRunning else { return }
            (privacy.address, privacy.advertised) = (nil, [:])
            renewAdvertisingAddresses()
        }
        return privacy.key.makePrivateAddress(using: &world.generator)
    }
}
