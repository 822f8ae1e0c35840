import BluetoothLoop
import BluetoothSockets
import BluetoothSystem

/// A watch on `/dev/rfkill`, which reports every change of a switch, of Bluetooth or not.
final class LinuxRadioSwitchWatch: RadioSwitchWatch {
    private let loop: EventLoop
    private let reader: RadioSwitchReader

    /// Nil if the device cannot be opened.
    init?(driver: EpollDriver, loop: EventLoop, _ handler: @escaping () -> Void) {
        guard let descriptor = try? FileDescriptor.radioSwitchEvents() else { return nil }
        self.loop = loop
        reader = RadioSwitchReader(descriptor, driver: driver, handler)
        guard reader.start() else { return nil }
    }

    deinit {
        loop.execute { [reader] in reader.close() }
    }
}

/// The watch's descriptor.
//
// Unchecked: used on the loop's thread only; the watch passes it there when it is dropped.
private final class RadioSwitchReader: ReadinessHandler, @unchecked Sendable {
    private let driver: EpollDriver
    private var descriptor: FileDescriptor
    private var registration: Registration?
    private let handler: () -> Void

    init(_ descriptor: consuming FileDescriptor, driver: EpollDriver, _ handler: @escaping () -> Void) {
        self.descriptor = descriptor
        self.driver = driver
        self.handler = handler
    }

    /// Starts to follow later changes.
    func start() -> Bool {
        guard descriptor.skipRadioSwitchEvents() else { return false }
        registration = try? driver.register(descriptor, for: .input, handler: self)
        return registration != nil
    }

    func handle(_ readiness: Readiness) {
        if !descriptor.skipRadioSwitchEvents() || !readiness.isDisjoint(with: .ended) { close() }
        handler()
    }

    func close() {
        if let registration { driver.deregister(registration, descriptor) }
        registration = nil
        descriptor.close()
    }
}
