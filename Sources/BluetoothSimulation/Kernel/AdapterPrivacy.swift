import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// Whether an adapter hides its address, and behind which ones.
final class AdapterPrivacy {
    private unowned let adapter: Adapter
    private(set) var mode = PrivacyMode.off
    private var key = SecurityKey.zero
    /// The address of connections, scans and legacy advertising; nil where the next use makes one.
    private var address: BluetoothAddress?
    /// Those of advertising sets, by the numbers of their instances.
    private var advertised: [UInt8: BluetoothAddress] = [:]
    /// When they have been used for long enough.
    private var expiry: ScheduledEvent?

    /// How long the kernel uses a private address (`HCI_DEFAULT_RPA_TIMEOUT`).
    private static let addressTime = Duration.seconds(900)

    init(adapter: Adapter) {
        self.adapter = adapter
    }

    private var controller: Controller { adapter.controller }

    /// Set Privacy.
    func set(_ mode: PrivacyMode, _ key: SecurityKey, for request: ManagementRequest) {
        guard controller.configuration.hasLE else { return request.fail(.notSupported) }
        guard mode.rawValue <= PrivacyMode.limited.rawValue else { return request.fail(.invalidParameters) }
        guard !adapter.isRunning else { return request.fail(.rejected) }
        adapter.settings.change(request) {
            (self.mode, self.key) = (mode, key)
            adapter.keys.exchangeIdentities()
        }
    }

    /// The adapter is on.
    func begin() {
        controller.identityResolvingKey =
            mode == .off ? nil : IdentityResolvingKey(address: adapter.identityAddress, value: key)
    }

    /// The adapter goes off; it comes back with other addresses.
    func end() {
        expiry?.cancel()
        (address, advertised) = (nil, [:])
    }

    // MARK: Addresses

    /// Whether an instance shows a private address: in limited privacy not while the adapter can be found and bonded with.
    func usesPrivateAddress(_ flags: AdvertisingInstanceFlags) -> Bool {
        switch mode {
        case .off: false
        case .limited:
            !adapter.settings.isBondable || flags.isDisjoint(with: [.generalDiscoverable, .limitedDiscoverable])
        default: true
        }
    }

    func ownAddressType(_ flags: AdvertisingInstanceFlags) -> LEOwnAddressType {
        usesPrivateAddress(flags) || adapter.identityAddress.kind == .random ? .random : .public
    }

    /// Gives the controller the private address of what is about to begin, unless it uses one already.
    func updateRandomAddress() {
        guard mode != .off, !controller.scanner.isEnabled, !controller.advertising.isLegacyEnabled else { return }
        let address = address ?? makeAddress()
        self.address = address
        if controller.randomAddress != address { adapter.perform(.leSetRandomAddress(address)) }
    }

    func address(ofInstance number: UInt8) -> BluetoothAddress {
        let address = advertised[number] ?? makeAddress()
        advertised[number] = address
        return address
    }

    private func makeAddress() -> BluetoothAddress {
        expiry?.cancel()
        expiry = adapter.world.schedule(after: Self.addressTime) { [weak self] in
            guard let self, adapter.isRunning else { return }
            (address, advertised) = (nil, [:])
            adapter.advertising.renewAddresses()
        }
        return key.makePrivateAddress(using: &adapter.world.generator)
    }
}
