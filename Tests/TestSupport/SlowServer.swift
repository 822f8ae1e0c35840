import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import Synchronization

/// A server with a service 180F and a long characteristic 2A19, and takes some time for each response.
package final class SlowServer: SimulatedLinkHandler {
    private let pause: Duration
    private let loop: EventLoop
    private let timer = Mutex<LoopTimer?>(nil)

    package init(pause: Duration, on loop: EventLoop) {
        self.pause = pause
        self.loop = loop
    }

    package func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        let request = [UInt8](packet)
        guard request.count >= 3, request[0] != 0x0C || request.count == 5 else { return }
        let answer: [UInt8]
        switch request[0] {
        // The service at 0001…0003, its characteristic at 0002, the value at 0003.
        case 0x06 where request[1] == 1: answer = [0x07, 0x01, 0x00, 0x03, 0x00]
        case 0x08 where request[1] <= 2: answer = [0x09, 0x07, 0x02, 0x00, 0x02, 0x03, 0x00, 0x19, 0x2A]
        case 0x0A: answer = [0x0B] + [UInt8](repeating: 7, count: 22)
        // The value has 485 bytes.
        case 0x0C:
            let isLast = Int(request[3]) | Int(request[4]) << 8 == 484
            answer = [0x0D] + [UInt8](repeating: 7, count: isLast ? 1 : 22)
        // One more primary service at each handle.
        case 0x10: answer = [0x11, 0x06] + request[1...2] + request[1...2] + [0x00, 0x18]
        case 0x02: return _ = link.send([0x01, 0x02, 0, 0, 0x06])
        default: answer = [0x01, request[0]] + request[1...2] + [0x0A]
        }
        let later = loop.makeTimer { link.send(answer) }
        later.set(after: pause)
        timer.withLock { $0 = later }
    }
}
