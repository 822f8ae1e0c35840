/// What becomes of a stream, such as a scan, when its adapter is powered off, blocked or unplugged.
public enum AdapterLeavePolicy: Hashable, Sendable {
    /// It ends with the reason: ``BluetoothError/Code/adapterOff``, `.adapterBlocked` or `.noAdapter`.
    case end
    /// It is silent until the adapter is back, and goes on then; it ends when that fails or the adapter is closed.
    case resume
}
