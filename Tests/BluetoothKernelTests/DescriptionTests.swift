import BluetoothKernel
import Testing

@Suite struct DescriptionTests {
    @Test func errorsNameTheCallAndTheNumber() {
        #expect(KernelError("connect", .connectionRefused).description == "connect: ECONNREFUSED")
        #expect(KernelError("send", ErrorNumber(rawValue: 4095)).description == "send: errno 4095")
    }

    @Test func filtersNameEventsByTheLowSixBits() {
        #expect(HCISocketFilter.events(0x0E, 0x3E).events == 1 << 14 | 1 << 62)
        #expect(HCISocketFilter.events(0xFF).events == 1 << 63)
        #expect(HCISocketFilter.allEvents.packetTypes == 16)
    }
}
