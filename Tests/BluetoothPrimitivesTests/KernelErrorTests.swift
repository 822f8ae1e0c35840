import BluetoothPrimitives
import Testing

@Suite struct KernelErrorTests {
    @Test func errorsNameTheCallAndTheNumber() {
        #expect(KernelError("connect", .connectionRefused).description == "connect: ECONNREFUSED")
        #expect(KernelError("send", ErrorNumber(rawValue: 4095)).description == "send: errno 4095")
    }
}
