/// A device on the UART of a ``SimulatedLINBLE``, such as a microcontroller: bytes and expired timers in, actions out.
///
/// All links of one LINBLE have the same one. It is called on the radio's loop and does not wait.
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
    /// Takes the bytes that a host has sent, cut at arbitrary places.
    mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction]

    /// Takes the end of the wait it asked for last; does nothing by default.
    mutating func timerExpired() -> [AttachedDeviceAction]

    /// Takes the end of a link; does nothing by default.
    mutating func disconnected() -> [AttachedDeviceAction]
}

extension AttachedDevice {
    /// Does nothing.
    public mutating func timerExpired() -> [AttachedDeviceAction] { [] }

    /// Does nothing.
    public mutating func disconnected() -> [AttachedDeviceAction] { [] }
}

/// Something that a device on a UART wants done.
public enum AttachedDeviceAction: Hashable, Sendable {
    /// Puts bytes on the UART.
    case send([UInt8])
    /// Calls ``AttachedDevice/timerExpired()`` after this long, in place of any earlier wish; nil: not at all.
    case setTimer(Duration?)
}

/// A wire from a UART's output to its input: everything comes back.
public struct LoopbackDevice: AttachedDevice {
    /// A wire.
    public init() {}

    /// Gives the bytes back.
    public mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] { [.send(bytes)] }
}

/// A device that takes everything and sends nothing.
public struct SilentDevice: AttachedDevice {
    /// A device.
    public init() {}

    /// Drops the bytes.
    public mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] { [] }
}

extension AttachedDevice where Self == LoopbackDevice {
    /// A wire from the UART's output to its input: everything comes back.
    public static var loopback: LoopbackDevice { LoopbackDevice() }
}

extension AttachedDevice where Self == SilentDevice {
    /// A device that takes everything and sends nothing.
    public static var silent: SilentDevice { SilentDevice() }
}
