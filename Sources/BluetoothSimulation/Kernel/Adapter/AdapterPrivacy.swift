import BluetoothHCI
import BluetoothManagement

/// The privacy of an adapter: whether it is on, and the private addresses.
final class AdapterPrivacy {
    private unowned let adapter: SimulatedAdapter
    private(set) var mode = PrivacyMode.off
    private var key = SecurityKey.zero
    /// The address of connections, scans and legacy advertising; nil if the next use generates one.
    private var address: BluetoothAddress?
    /// The addresses of advertising sets, by their instance numbers.
    private var advertised: [UInt8: BluetoothAddress] = [:]
    /// The expiry of the addresses.
    private var expiry: ScheduledEvent?

    /// The lifetime of a private address in the kernel (`HCI_DEFAULT_RPA_TIMEOUT`).
    private static let addressTime = Duration.seconds(900)

    init(adapter: SimulatedAdapter) {
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
            adapter.keys.exchangesIdentities = true
        }
    }

    /// Handles powering on.
    func begin() {
        controller.identityResolvingKey =
            mode == .off ? nil : IdentityResolvingKey(address: adapter.identityAddress, value: key)
    }

    /// Handles powering off; the adapter comes back with other addresses.
    func end() {
        expiry?.cancel()
        (address, advertised) = (nil, [:])
    }

    // MARK: Addresses

    /// Whether an instance uses a private address: in limited privacy not while the adapter is discoverable and
    /// bondable.
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

    /// Sets the controller's private address for the next procedure, unless it uses one already.
    func updateRandomAddress() {
        guard mode != .off, !controller.scanner.isEnabled, !controller.advertising.isLegacyEnabled else { return }
        let address = address ?? makeAddress()
        self.address = address
        if controller.randomAddress != address { adapter.perform(LESetRandomAddress(address)) }
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
