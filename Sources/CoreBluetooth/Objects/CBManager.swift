public import Foundation
import Logging

/// What central managers and peripheral managers have in common.
open class CBManager: NSObject {
    let shared = Locked(CBManagerState.unknown)

    init(manager: Void) {
        super.init()
    }

    /// How it stands; changes just before the delegate is told.
    open var state: CBManagerState { shared { $0 } }

    /// Whether the program may use Bluetooth: it may, unless it lacks the capabilities.
    open var authorization: CBManagerAuthorization { state == .unauthorized ? .denied : .allowedAlways }

    /// Whether programs may use Bluetooth: nobody is asked on Linux, so they may.
    open class var authorization: CBManagerAuthorization { .allowedAlways }

    /// Whether it is powered on; otherwise the call is logged as one that comes at the wrong time.
    func isReady(for call: String) -> Bool {
        let state = state
        if state == .poweredOn { return true }
        misuse("\(call) has no effect while \(type(of: self)) is \(state); wait until it is poweredOn.")
        return false
    }
}

/// Tells the programmer of a call that has no effect.
@Sendable func misuse(_ message: String) {
    coreBluetoothLog.warning("API MISUSE: \(message)")
}

let coreBluetoothLog = Logger(label: "CoreBluetooth")
