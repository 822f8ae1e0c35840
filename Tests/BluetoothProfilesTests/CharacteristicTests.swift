import BluetoothProfiles
import Testing

@Suite struct CharacteristicTests {
    @Test func anErrorNamesTheField() {
        #expect("\(MalformedValue("Flags", "1 byte needed, 0 available"))" == "Flags: 1 byte needed, 0 available")
    }
}
