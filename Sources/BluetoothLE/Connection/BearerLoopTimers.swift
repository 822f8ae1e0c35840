import ATT
import BluetoothKernel
import GATT

/// The time limits of a bearer on the loop.
///
/// Each timer is made when it is first set, as most links never need all: there may be thousands of links.
struct BearerLoopTimers {
    let loop: EventLoop
    private var request: LoopTimer?
    private var indication: LoopTimer?

    init(on loop: EventLoop) { self.loop = loop }

    /// Sets a timer anew, or cancels it.
    mutating func set(_ timer: BearerTimer, isOn: Bool, of bearer: ATTBearer) {
        switch timer {
        case .request: request = changed(request, isOn, bearer)
        case .indication: indication = changed(indication, isOn, bearer)
        }
    }

    private func changed(_ existing: LoopTimer?, _ isOn: Bool, _ bearer: ATTBearer) -> LoopTimer? {
        guard isOn else {
            existing?.cancel()
            return existing
        }
        let loopTimer = existing ?? loop.makeLocalTimer { [weak bearer] in bearer?.timedOut() }
        loopTimer.set(after: AttributeProtocol.transactionTimeout)
        return loopTimer
    }
}
