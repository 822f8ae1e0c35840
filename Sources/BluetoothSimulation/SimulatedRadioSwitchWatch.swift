import BluetoothLoop
import BluetoothSockets

extension SimulatedKernel {
    /// Calls `handler` when a radio switch changes; nil if ``canWatchRadioSwitches`` is false.
    public func watchRadioSwitches(_ handler: @escaping () -> Void) -> (any RadioSwitchWatch)? {
        let handler = LoopBound(handler, on: loop)
        let identifier = withHost { host -> Int? in
            guard host.conditions.canWatchRadioSwitches else { return nil }
            return host.world.watchRadioSwitches(of: host, handler)
        }
        return identifier.map { SimulatedRadioSwitchWatch(radio: radio, identifier: $0) }
    }
}

/// A watch; dropping it ends it.
private final class SimulatedRadioSwitchWatch: RadioSwitchWatch {
    private let radio: SimulatedRadio
    private let identifier: Int

    init(radio: SimulatedRadio, identifier: Int) {
        self.radio = radio
        self.identifier = identifier
    }

    deinit {
        radio.withWorld { [identifier] in $0.endRadioSwitchWatch(identifier) }
    }
}
