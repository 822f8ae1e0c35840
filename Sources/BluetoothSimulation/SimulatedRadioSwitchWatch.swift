import BluetoothLoop
import BluetoothSockets

extension SimulatedKernel {
    /// Calls `handler` when a radio switch changes; nil if ``MachineConditions/canWatchRadioSwitches`` is false.
    package func watchRadioSwitches(_ handler: @escaping () -> Void) -> (any RadioSwitchWatch)? {
        let handler = LoopBound(handler, on: loop)
        let identifier = withHost { host -> Int? in
            guard host.conditions.canWatchRadioSwitches else { return nil }
            return host.world.watchRadioSwitches(of: host, handler)
        }
        return identifier.map { identifier in
            SimulatedHold { [radio] in radio.withWorld { $0.endRadioSwitchWatch(identifier) } }
        }
    }
}
