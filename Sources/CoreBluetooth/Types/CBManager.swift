public import Foundation
import Logging

/// The common part of central managers and peripheral managers.
//
// Sendable unchecked, since NSObject is not: the state is locked.
open class CBManager: NSObject, @unchecked Sendable {
    let shared = Locked(CBManagerState.unknown)
    /// The manager's handle of the radio; nil if there is none.
    let opened = Locked<(any ManagerHandle)?>(nil)

    init(manager: Void) {
        super.init()
    }

    deinit {
        opened { $0 }?.close()
    }

    /// Calls the delegate, as the state has changed.
    func reportState() {}

    /// The manager's state; changes just before the delegate is called.
    open var state: CBManagerState { shared { $0 } }

    /// The program's permission to use Bluetooth: granted, unless it lacks the capabilities.
    open var authorization: CBManagerAuthorization { state == .unauthorized ? .denied : .allowedAlways }

    /// The permission to use Bluetooth: Linux asks no user, so it is granted.
    open class var authorization: CBManagerAuthorization { .allowedAlways }

    /// Whether the manager is powered on; otherwise the call is logged as misuse.
    func isReady(for call: String = #function) -> Bool {
        let state = state
        if state == .poweredOn { return true }
        misuse("\(call) has no effect while \(type(of: self)) is \(state); wait until it is poweredOn.")
        return false
    }
}

/// The part of a manager that any thread may use.
protocol ManagerHandle: AnyObject, Sendable {
    /// Starts to follow the adapter.
    func begin()

    /// Ends everything: the program has released the manager.
    func close()
}

/// Logs a call that has no effect as misuse of the API.
func misuse(_ message: @autoclosure () -> String, file: String = #fileID, line: UInt = #line) {
    coreBluetoothLog.warning("API MISUSE: \(message())", file: file, line: line)
}

let coreBluetoothLog = LimitedLog(Logger(label: "CoreBluetooth"))
