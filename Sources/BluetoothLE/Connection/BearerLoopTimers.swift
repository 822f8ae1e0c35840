import ATT
import BluetoothKernel
import GATT

/// The time limits of a bearer on the loop.
///
/// Each timer is made when it is first set, as most links never need all: there may be thousands of links.
struct BearerLoopTimers {
    let loop: EventLoop
    private let onTimeOut: () -> Void
    private var request: LoopTimer?
    private var indication: LoopTimer?

    /// `onTimeOut` is called on the loop when a time limit is over.
    init(on loop: EventLoop, _ onTimeOut: @escaping () -> Void) {
        self.loop = loop
        self.onTimeOut = onTimeOut
    }

    /// Sets a timer anew, or cancels it.
    mutating func set(_ timer: BearerTimer, isOn: Bool) {
        switch timer {
        case .request: request = changed(request, isOn)
        case .indication: indication = changed(indication, isOn)
        }
    }

    private func changed(_ existing: LoopTimer?, _ isOn: Bool) -> LoopTimer? {
        guard isOn else {
            existing?.cancel()
            return existing
        }
        let loopTimer = existing ?? loop.makeLocalTimer(onTimeOut)
        loopTimer.set(after: AttributeProtocol.transactionTimeout)
        return loopTimer
    }
}
