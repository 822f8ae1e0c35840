import BluetoothSockets
import Testing

@Suite struct FilterTests {
    @Test func filtersNameEventsByTheLowSixBits() {
        #expect(HCISocketFilter.events(0x0E, 0x3E).events == 1 << 14 | 1 << 62)
        #expect(HCISocketFilter.events(0xFF).events == 1 << 63)
        #expect(HCISocketFilter.allEvents.packetTypes == 16)
    }
}
