import BluetoothPrimitives
import BluetoothSockets
import BluetoothLinux
import TestSupport

/// Two connected sockets whose events are recorded.
struct Pair {
    let kernel: LinuxKernel
    let first: any L2CAPSocket
    let second: any L2CAPSocket
    let firstEvents: SocketRecorder
    let secondEvents: SocketRecorder

    static func open(
        on kernel: LinuxKernel? = nil, options: L2CAPOptions = L2CAPOptions()
    ) async throws -> Pair {
        let kernel = try kernel ?? LinuxKernel.shared
        return try await kernel.onLoop {
            let (firstEvents, secondEvents) = (SocketRecorder(), SocketRecorder())
            let (first, second) = try kernel.unixPair(
                options: options, { firstEvents.handle($0) }, { secondEvents.handle($0) })
            firstEvents.attach(first)
            secondEvents.attach(second)
            return Pair(
                kernel: kernel, first: first, second: second, firstEvents: firstEvents, secondEvents: secondEvents)
        }
    }

    /// Sends from the first end, on the loop.
    func send(_ packets: [UInt8]...) async -> [SendOutcome] {
        await kernel.onLoop { packets.map { first.send($0) } }
    }

    /// The events of the second end, once there are `count`.
    func secondEntries(_ count: Int) async -> [SocketRecorder.Entry]? {
        await secondEvents.journal.wait(on: kernel.loop) { $0.count >= count }
    }

    func close() async {
        await kernel.onLoop {
            first.close()
            second.close()
        }
    }
}

let connectionReset = SocketRecorder.Entry.closed(KernelError("recv", .connectionReset))
