/// A watch on the machine's radio switches. Dropping the last reference ends it.
public protocol RadioSwitchWatch: AnyObject, Sendable {}

extension BluetoothKernel {
    /// The radio switches as the environment tells them.
    public func radioSwitches() -> [HostEnvironment.RadioSwitch] { environment().radioSwitches }

    /// No watch: such a kernel cannot tell when a switch changes.
    public func watchRadioSwitches(_ handler: @escaping () -> Void) -> (any RadioSwitchWatch)? { nil }
}
