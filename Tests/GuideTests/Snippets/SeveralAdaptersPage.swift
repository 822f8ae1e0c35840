// The snippets of Docs/Guide/Central/SeveralAdapters.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/SeveralAdapters.md
enum SeveralAdaptersPage {
    /// Room for links
    static func roomForLinks(_ adapter: Adapter) async throws {
        let capacity = await adapter.capacity
        print(capacity.ownLinks, "links of this program,", capacity.otherLinks ?? 0, "of others")
        print(capacity.advertisingSetsInUse ?? 0, "of", capacity.advertisingSets ?? 0, "advertising sets")
        print(capacity.linkLimit.map { "\($0) links at most" } ?? "no limit is known yet")
        print(capacity.waitingConnects, "connects wait")
    }

    /// Room for links
    static func roomForLinks2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let options = ConnectionOptions(timeout: .seconds(20), slotTimeout: .seconds(60))
        let connection = try await adapter.connect(to: address, options: options)
        print("connected to", connection.peer)
        await connection.disconnect()
    }

    /// Several as one
    static func severalAsOne() async throws {
        var adapters: [Adapter] = []
        for information in try await Adapter.all() {
            adapters.append(try await Adapter.open(.id(information.id), power: .powerOn))
        }
        let group = try await AdapterGroup(adapters)
        for try await found in try await group.scan(ScanOptions(duration: .seconds(5))) {
            print(found.localName ?? "?", found.signals.map { "\($0.adapter): \($0.rssi ?? 0) dBm" })
        }
        await group.close()
    }

    /// Several as one
    static func severalAsOne2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let group = try await AdapterGroup([adapter])
        let connection = try await group.connect(to: address, options: ConnectionOptions(slotTimeout: .seconds(60)))
        print("connected to", connection.peer)
        await connection.disconnect()
    }

    /// Several as one
    static func severalAsOne3(_ adapter: Adapter) async throws {
        let group = try await AdapterGroup([adapter])
        let phone = try DeviceIdentity(name: "phone", exportedKey: "8B3F6D01C2E94A7788D0B1A35C4E9F20")
        let kept = group.keepConnected(to: phone)
        let connection = try await kept.connected(timeout: .seconds(60))
        print("connected to", connection.peer, "by", await connection.adapterName)
        await kept.disconnect()
    }

    /// Several as one
    static func severalAsOne4(_ adapter: Adapter) async throws {
        let group = try await AdapterGroup([adapter])
        let uart = UARTConnection.keep(.name("LINBLE-Z1"), on: group)
        try await uart.send([0x01, 0x00])
        if let answer = try await uart.read(timeout: .seconds(10)) { print(answer) }
        await uart.disconnect()
    }

    /// Adding and removing adapters
    static func addingAndRemovingAdapters(_ adapter: Adapter) async throws {
        let group = try await AdapterGroup([adapter])
        let second = try await Adapter.open(.index(1), power: .powerOn)
        try await group.add(second)
        print(await group.adapters.map(\.information.name))
        await group.remove(adapter)
        try await group.ready(timeout: .seconds(10))
        await group.close()
    }
}
