// The snippets of Docs/Guide/Central/Adapters.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/Adapters.md
enum AdaptersPage {
    /// Choosing one
    static func choosingOne() async throws {
        let adapter = try await Adapter.open(power: .powerOn)
        print(adapter.information.name, adapter.information.address)
    }

    /// Choosing one
    static func choosingOne2() async throws {
        let adapter = try await Adapter.open(power: .powerOn, configuration: .init(timeout: .seconds(30)))
        print(adapter.information.name, "is there")
    }

    /// Following one
    static func followingOne(_ adapter: Adapter) async throws {
        for try await state in adapter.states() {
            print(state)  // on, off, blocked by rfkill (soft), absent …
            if state == .absent { break }
        }
    }

    /// Following one
    static func followingOne2(_ adapter: Adapter) async throws {
        try await adapter.ready(timeout: .seconds(10))
        print(adapter.state)  // on
    }

    /// When it goes
    static func whenItGoes(_ adapter: Adapter) async throws {
        for try await advertisement in try await adapter.scan(ScanOptions(whenAdapterUnavailable: .resume)) {
            print(advertisement)
        }
    }

    /// When it goes
    static func whenItGoes2(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let options = ConnectionOptions(timeout: .seconds(60), waitsForAdapter: true)
        let connection = try await adapter.connect(to: address, options: options)
        print("connected to", connection.peer)
        await connection.disconnect()
    }

    /// When its radio fails
    static func whenItsRadioFails() async throws {
        let recovery = RecoveryOptions(mode: .recover)
        let adapter = try await Adapter.open(power: .powerOn, configuration: .init(recovery: recovery))
        let events = await adapter.healthEvents()
        print(await adapter.health)  // good
        for try await event in events {
            print(event)  // no advertisement was received for 30 s; trying to restart the scan; recovered after …
            if event.gaveUp != nil { break }
        }
        await adapter.close()
    }

    /// All of them
    static func allOfThem() async throws {
        for try await change in try await Adapter.changes() {
            print(change)  // hci0 (00:AA:01:00:00:01) added: off
        }
    }

    /// All of them
    static func allOfThem2() async throws {
        for information in try await Adapter.all() where information.isLowEnergySupported {
            let adapter = try await Adapter.open(.id(information.id), power: .powerOn)
            let nearest = try await adapter.firstAdvertisement(timeout: .seconds(5), options: ScanOptions(filter: .rssi(atLeast: -60)))
            print(information.name, "hears", nearest)
            await adapter.close()
        }
    }
}
