import BluetoothLE
import BluetoothSimulation
import Testing

@testable import CoreBluetooth

@Suite struct SimulationTests {
    @Test func theEnvironmentChoosesTheAdapter() {
        let configuration = CBLinux.Configuration(environment: { ["BLUETOOTH_ADAPTER": "hci3"][$0] })
        #expect(configuration.selector == .index(3))
        #expect(configuration.problem == nil)
        #expect(CBLinux.Configuration(environment: { ["BLUETOOTH_ADAPTER": "usb"][$0] }).problem?.code == .noAdapter)
        var asked: Set<String> = []
        let own = CBLinux.Configuration(environment: { name in
            asked.insert(name)
            return nil
        })
        #expect(own.selector == .first)
        // What asks reports a variable that is ignored.
        #expect(asked == ["BLUETOOTH_ADAPTER", "BLUETOOTH_PAIRING", "BLUETOOTH_SIMULATION"])
        let wrong = Result { () throws(BluetoothError) in try EnvironmentRadio.makeKernel("/nowhere") }
        let refused = CBLinux.Configuration(environment: { _ in nil }, simulation: wrong)
        #expect(refused.problem?.code == .noAdapter)
        #expect(throws: BluetoothError.self) { try refused.makeSource() }
    }

    @Test func aFileMakesAWorld() async throws {
        let path = try #require(
            #filePath.range(of: "/Tests/").map {
                #filePath[..<$0.lowerBound] + "/Examples/CoreBluetoothCentral/world.json"
            })
        let world = try EnvironmentRadio.makeKernel(String(path))
        let configuration = CBLinux.Configuration(environment: { _ in nil }, simulation: .success(world))
        let kernel = try #require(configuration.kernel)
        let adapter = try await Adapter.open(power: .powerOn, on: kernel)
        let connection = try await adapter.connect(firstMatching: { $0.data.localName == "Pulse-Z1" })
        let services = try await connection.discover()
        let rate = try #require(services.characteristic("2A37", in: "180D"))
        let place = try #require(services.characteristic("2A38", in: "180D"))
        #expect(try await connection.read(place) == [2])
        var values = try await connection.subscribe(to: rate).makeAsyncIterator()
        // The device counts.
        let (first, second) = (try await values.next(), try await values.next())
        #expect(first?.first == 0 && second?.last == first?.last.map { $0 &+ 1 })
        await connection.disconnect()
        await adapter.close()
    }

    @Test func identifiersAreAddresses() throws {
        for kind in BluetoothAddress.Kind.allCases {
            let address = BluetoothAddress(0xC098_E512_3458, kind: kind)
            #expect(UUID(address).bluetoothAddress == address)
        }
        #expect(UUID().bluetoothAddress == nil)
        #expect(
            UUID(BluetoothAddress(0xC098_E512_3458, kind: .random)).uuidString
                == "C098E512-3458-8001-8043-424C696E7578")
    }
}
