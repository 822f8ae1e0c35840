import BluetoothLE
import Testing

@testable import ExampleSupport

/// The choice among the devices that match, sighting by sighting.
@Suite struct DeviceSearchTests {
    private func sighting(
        _ number: UInt64, _ name: String?, _ query: String = "pulse", rssi: Int? = -60, isConnectable: Bool = true
    ) -> DeviceSearch.Sighting {
        DeviceSearch.Sighting(
            address: BluetoothAddress(number, kind: .random), name: name, rssi: rssi, isConnectable: isConnectable,
            match: name.flatMap { DeviceQuery.match($0, query) })
    }

    @Test(
        arguments: [
            ("Pulse-Z1", "Pulse-Z1", .exact), ("Pulse-Z1", "pulse-z1", .partial), ("Pulse-Z1", "Z1", .partial),
            ("Pulse-Z1", "LSE-", .partial), ("Pulse", "Pulse-Z1", nil), ("", "a", nil), ("ÉCLAIR", "éclair", .partial),
            ("日本語", "本", .partial),
        ] as [(String, String, DeviceQuery.Match?)])
    func aNameMatchesByPartAndInAnyCase(_ name: String, _ text: String, _ match: DeviceQuery.Match?) {
        #expect(DeviceQuery.match(name, text) == match)
    }

    @Test func anExactNameIsChosenAtOnce() {
        var search = DeviceSearch(pick: nil)
        #expect(search.record(sighting(1, "Thermometer", "Pulse-Z1")) == .search)
        #expect(search.record(sighting(2, "Pulse-Z1x", "Pulse-Z1")) == .collect)
        let exact = sighting(3, "Pulse-Z1", "Pulse-Z1")
        #expect(search.record(exact) == .found(exact))
    }

    @Test func aPartOfANameMustMatchOneDeviceOnly() throws {
        var search = DeviceSearch(pick: nil)
        #expect(search.record(sighting(1, "Pulse-Z1")) == .collect)
        // The same device again is no second one.
        #expect(search.record(sighting(1, "Pulse-Z1", rssi: -50)) == .collect)
        #expect(try search.choose()?.address == BluetoothAddress(1, kind: .random))
        _ = search.record(sighting(2, "Pulse-Z2", rssi: -40))
        let error = #expect(throws: ProgramError.self) { _ = try search.choose() }
        #expect(error?.status == .usage)
        #expect(
            error?.message == """
                2 devices match:
                  Pulse-Z2  00:00:00:00:00:02 (random)  -40 dBm
                  Pulse-Z1  00:00:00:00:00:01 (random)  -50 dBm
                """)
    }

    @Test func twoDevicesOfOneNameAreAmbiguousIfOnlyOneMayMatch() throws {
        var search = DeviceSearch(pick: .only)
        #expect(search.record(sighting(1, "pulse")) == .collect)
        #expect(search.record(sighting(2, "pulse")) == .collect)
        #expect(throws: ProgramError.self) { _ = try search.choose() }
    }

    @Test func exactMatchesPrecedeTheOthers() throws {
        for pick in [PickOption.only, .strongest] {
            var search = DeviceSearch(pick: pick)
            _ = search.record(sighting(1, "pulse-2", rssi: -30))
            _ = search.record(sighting(2, "pulse", rssi: -90))
            #expect(try search.choose()?.address == BluetoothAddress(2, kind: .random))
        }
    }

    @Test func theStrongestIsThatOfTheNewestReports() throws {
        var search = DeviceSearch(pick: .strongest)
        _ = search.record(sighting(1, "pulse-1", rssi: -30))
        _ = search.record(sighting(2, "pulse-2", rssi: -60))
        _ = search.record(sighting(3, "pulse-3", rssi: nil))
        _ = search.record(sighting(1, "pulse-1", rssi: -70))
        #expect(try search.choose()?.address == BluetoothAddress(2, kind: .random))
    }

    @Test func theFirstIsChosenAtOnce() {
        var search = DeviceSearch(pick: .first)
        let first = sighting(1, "Pulse-Z1")
        #expect(search.record(first) == .found(first))
    }

    @Test func aBeaconIsNoCandidate() throws {
        var search = DeviceSearch(pick: nil)
        #expect(search.record(sighting(1, "pulse", isConnectable: false)) == .search)
        #expect(try search.choose() == nil)
        #expect(search.notFound(.name("pulse"), within: .seconds(1)).message.contains("does not accept connections"))
        #expect(search.record(sighting(2, "pulse-2")) == .collect)
        #expect(try search.choose()?.address == BluetoothAddress(2, kind: .random))
    }

    @Test func anErrorListsWhatWasSeenInstead() {
        var search = DeviceSearch(pick: nil)
        #expect(search.notFound(.name("x"), within: .seconds(1.5)).remedy?.hasPrefix("No device was seen.") == true)
        _ = search.record(sighting(1, nil))
        _ = search.record(sighting(2, nil))
        _ = search.record(sighting(2, "b\u{1B}"))
        let error = search.notFound(.name("x"), within: .seconds(1.5))
        #expect(error.status == .notFound)
        #expect(error.message == "No device named 'x' advertised within 1.5 s.")
        #expect(error.remedy?.hasPrefix("Seen: b\\u{1B}, 00:00:00:00:00:01 (ble scan shows all)\n") == true)
        for number in 3..<30 as Range<UInt64> { _ = search.record(sighting(number, "name\(number)")) }
        let many = search.notFound(.name("x"), within: .seconds(1))
        #expect(many.remedy?.split(separator: "\n").first?.contains(", … (ble") == true)
    }
}
