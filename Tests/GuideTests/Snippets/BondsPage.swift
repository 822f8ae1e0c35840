// The snippets of Docs/Guide/Bonds.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Bonds.md
enum BondsPage {
    /// Storing bonds
    static func storingBonds() async throws {
        let store = try FileBondStore(directory: "/var/lib/sensors/bonds")
        let adapter = try await Adapter.open(power: .powerOn, configuration: .init(bonds: .store(store)))
        print(await adapter.bondStatus)
    }

    /// What a bond promises
    static func whatABondPromises(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let connection = try await adapter.connect(to: address)
        print(await connection.bondProtection)
    }

    /// What a bond promises
    static func whatABondPromises2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let options = ConnectionOptions(security: SecurityOptions(leavesBondedLinksUnencrypted: true))
        let connection = try await adapter.connect(to: address, options: options)
        print(await connection.bondProtection)
    }

    /// How many bonds
    static func howManyBonds() async throws {
        let limit = BondLimit(8, whenFull: .replaceUnauthenticated)
        let adapter = try await Adapter.open(power: .powerOn, configuration: .init(bondLimit: limit))
        try await adapter.setPairingAgent(JustWorksPairingAgent())
    }

    /// Listing and removing
    static func listingAndRemoving(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        for bond in await adapter.bonds() {
            print(bond)
        }
        try await adapter.removeBond(with: address)
    }

    /// Following changes
    static func followingChanges(_ adapter: Adapter) async throws {
        for try await change in await adapter.bondChanges() {
            if let bond = change.stored { print("bonded with", bond.identity) }
            if let (bond, error) = change.notStored { print(bond.identity, "until this program ends:", error.message) }
            if let (peer, error) = change.notReplaced { print(peer, "may not replace its bond:", error.message) }
            if let identity = change.removed { print("forgot", identity) }
            if let (identity, other) = change.displaced { print(identity, "made room for", other) }
            if let peer = change.refused { print("no room for", peer) }
        }
    }

    /// Private addresses of devices
    static func privateAddressesOfDevices(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let found = try await adapter.firstAdvertisement(timeout: .seconds(10), options: ScanOptions(filter: .address(address)))
        print(found.address == address, found.privateAddress != nil)
    }

    /// Devices known by their key
    static func devicesKnownByTheirKey(_ adapter: Adapter) async throws {
        let phone = try DeviceIdentity(name: "phone", exportedKey: "8B3F6D01C2E94A7788D0B1A35C4E9F20")
        let found = try await adapter.firstAdvertisement(options: ScanOptions(filter: .identity(phone)))
        print(phone.name, found.address != nil)
        let connection = try await adapter.connect(to: phone)
        print(connection.peer == found.address)
    }

    /// A private address for this machine
    static func aPrivateAddressForThisMachine() async throws {
        let adapter = try await Adapter.open(power: .powerOn, configuration: .init(privacy: .on))
        print(adapter.information.usesPrivateAddresses, adapter.information.address)
    }
}
