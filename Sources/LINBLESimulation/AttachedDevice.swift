/// A device on the UART of a ``SimulatedLINBLE``, such as a microcontroller: received bytes and expired timers in,
/// actions out.
///
/// All links of one LINBLE share it. It is called on the radio's loop and must not wait.
///
/// ```swift
/// struct Counter: AttachedDevice {
///     var count: UInt8 = 0
///
///     mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] {
///         count &+= 1
///         return [.send([count])]
///     }
/// }
/// let linble = SimulatedLINBLE(on: radio, .init(attached: Counter()))
/// ```
public protocol AttachedDevice: Sendable {
    /// Receives bytes from a host, split at arbitrary places.
    mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction]

    /// Handles the expiry of its timer; does nothing by default.
    mutating func timerExpired() -> [AttachedDeviceAction]

    /// Handles the end of a link; does nothing by default.
    mutating func disconnected() -> [AttachedDeviceAction]
}

extension AttachedDevice {
    /// Does nothing.
    public mutating func timerExpired() -> [AttachedDeviceAction] { [] }

    /// Does nothing.
    public mutating func disconnected() -> [AttachedDeviceAction] { [] }
}

/// An action of a device on a UART.
public enum AttachedDeviceAction: Hashable, Sendable {
    /// Sends bytes on the UART.
    case send([UInt8])
    /// Calls ``AttachedDevice/timerExpired()`` after this time, replacing an earlier timer; nil: cancels it.
    case setTimer(Duration?)
}

/// A loopback from the UART's output to its input.
public struct LoopbackDevice: AttachedDevice {
    /// Creates a loopback.
    public init() {}

    /// Returns the bytes.
    public mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] { [.send(bytes)] }
}

/// A device that ignores all input and sends nothing.
public struct SilentDevice: AttachedDevice {
    /// Creates a silent device.
    public init() {}

    /// Discards the bytes.
    public mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] { [] }
}

extension AttachedDevice where Self == LoopbackDevice {
    /// A loopback from the UART's output to its input.
    public static var loopback: LoopbackDevice { LoopbackDevice() }
}

extension AttachedDevice where Self == SilentDevice {
    /// A device that ignores all input and sends nothing.
    public static var silent: SilentDevice { SilentDevice() }
}
