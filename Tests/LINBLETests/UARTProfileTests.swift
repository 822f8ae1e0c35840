import BluetoothLE
import LINBLE
import Testing

@Suite struct UARTProfileTests {
    private func candidates(_ list: [(BluetoothUUID, CharacteristicProperties)]) -> [UARTProfile.Candidate] {
        list.map { UARTProfile.Candidate(uuid: $0.0, properties: $0.1) }
    }

    @Test func theTableKnowsLINBLEFirstAndNoServiceTwice() {
        #expect(UARTProfile.known.first == .linble)
        #expect(Set(UARTProfile.known.map(\.service)).count == UARTProfile.known.count)
    }

    @Test func profilesAreFoundByName() {
        #expect(UARTProfile(named: "linble") == .linble)
        #expect(UARTProfile(named: "Nordic") == .nordic)
        #expect(UARTProfile(named: "hm-10") == .hm10)
        #expect(UARTProfile(named: "u-blox sps") == .uBlox)
        #expect(UARTProfile(named: "") == nil)
        #expect(UARTProfile(named: "nothing") == nil)
    }

    @Test func aLINBLEIsWrittenByCommands() throws {
        let selection = try #require(
            UARTProfile.linble.selection(
                among: candidates([
                    (UARTProfile.linble.fromDevice, .notify), (UARTProfile.linble.toDevice, .writeWithoutResponse),
                ])))
        #expect(selection.toDevice == 1)
        #expect(selection.fromDevice == 0)
        #expect(!selection.isWrittenByRequest)
    }

    @Test func characteristicsTheOtherWayRoundAreTakenTheOtherWayRound() throws {
        let selection = try #require(
            UARTProfile.nordic.selection(
                among: candidates([
                    (UARTProfile.nordic.toDevice, .indicate), (UARTProfile.nordic.fromDevice, [.write]),
                ])))
        #expect(selection.toDevice == 1)
        #expect(selection.fromDevice == 0)
        #expect(selection.isWrittenByRequest)
    }

    @Test func oneCharacteristicServesBothWays() throws {
        let selection = try #require(
            UARTProfile.hm10.selection(
                among: candidates([
                    (0xFFE1, [.read]), (0xFFE1, [.read, .writeWithoutResponse, .notify]), (0xFFE2, [.write]),
                ])))
        #expect(selection.toDevice == 1)
        #expect(selection.fromDevice == 1)
    }

    @Test func theWriteTypeCanBeForced() throws {
        var profile = UARTProfile.hm10
        let both = candidates([(0xFFE1, [.write, .writeWithoutResponse, .notify])])
        #expect(try #require(profile.selection(among: both)).isWrittenByRequest == false)
        profile.writeType = .request
        #expect(try #require(profile.selection(among: both)).isWrittenByRequest)
    }

    @Test func aServiceWithoutTheTwoIsRefused() {
        let notify = (UARTProfile.linble.fromDevice, CharacteristicProperties.notify)
        let write = (UARTProfile.linble.toDevice, CharacteristicProperties.writeWithoutResponse)
        #expect(UARTProfile.linble.selection(among: []) == nil)
        #expect(UARTProfile.linble.selection(among: candidates([notify])) == nil)
        #expect(UARTProfile.linble.selection(among: candidates([write])) == nil)
        #expect(UARTProfile.linble.selection(among: candidates([notify, (0x2A00, .write)])) == nil)
    }
}
