import BluetoothPrimitives
import BluetoothSockets
import BluetoothSystem
import CBluetoothSockets

/// The watch on another library's event descriptor.
//
// Unchecked: used on the loop's thread only.
final class EventWatch: ReadinessHandler, @unchecked Sendable {
    private let number: CInt
    private unowned let driver: EpollDriver
    private let handler: @Sendable () -> Void
    private var registration: Registration?

    init(_ number: CInt, driver: EpollDriver, _ handler: @escaping @Sendable () -> Void) {
        (self.number, self.driver, self.handler) = (number, driver, handler)
    }

    /// Starts it, again after the driver has lost its registrations.
    func start() throws(KernelError) {
        var descriptor = FileDescriptor(number)
        defer { descriptor.relinquish() }
        // Edge-triggered, so that each write to the descriptor is reported, though nobody reads the count.
        let wants = Readiness(rawValue: kernel_input_event | kernel_edge_triggered)
        if let registration { return try driver.restore(registration, descriptor, for: wants) }
        registration = try driver.register(descriptor, for: wants, handler: self)
    }

    func handle(_ readiness: Readiness) {
        if !readiness.isDisjoint(with: .ended) { try? start() }
        handler()
    }
}
