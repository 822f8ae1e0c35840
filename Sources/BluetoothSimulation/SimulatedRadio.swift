import BluetoothLoop
import BluetoothSockets
import Synchronization

/// The time of a simulation.
public enum SimulatedTime: Sendable {
    /// Virtual time: when nothing is ready, the clock jumps to the next deadline. For tests.
    case virtual
    /// Real time. For demonstrations.
    case real
}

/// A simulated radio with its devices: the adapters of one or several simulated kernels, and peripherals.
///
/// ```swift
/// let radio = SimulatedRadio(seed: 7)
/// let kernel = radio.makeKernel()
/// try await radio.run {
///     // … in virtual time, on the radio's loop
/// }
/// ```
///
/// With the same seed and the same calls the same happens at the same moments, as long as the program under test runs
/// on the loop (``run(limit:stallGrace:_:)`` ensures that) and uses no other clock. All methods may be called from any thread.
public final class SimulatedRadio: Sendable {
    /// The event loop of the radio: its clock, and the thread of all its kernels' sockets.
    public let loop: EventLoop
    let virtualTime: VirtualTimeDriver?
    private let world: Mutex<KernelWorld>

    /// Creates a radio without devices.
    ///
    /// - Parameters:
    ///   - time: the kind of time.
    ///   - seed: the seed of all randomness in the simulation.
    public init(time: SimulatedTime = .virtual, seed: UInt64 = 1) {
        switch time {
        case .virtual:
            let driver = VirtualTimeDriver()
            virtualTime = driver
            loop = EventLoop(driver: driver)
        case .real:
            virtualTime = nil
            loop = EventLoop(driver: RealTimeDriver())
        }
        world = Mutex(KernelWorld(seed: seed))
        installTimer()
    }

    /// Creates a radio without devices on a loop in real time, such as a Linux kernel's, which ends with the radio.
    package init(on loop: EventLoop, seed: UInt64 = 1) {
        (self.loop, virtualTime) = (loop, nil)
        world = Mutex(KernelWorld(seed: seed))
        installTimer()
    }

    private func installTimer() {
        let timer = loop.makeTimer { [weak self] in self?.pump() }
        world.withLock { $0.install(timer) }
    }

    deinit {
        loop.stop()
    }

    /// The present moment on the radio's clock.
    public var now: KernelInstant { loop.now }

    // MARK: State

    /// Locks the state for `body`. Afterwards the program's objects that it released are released, and the timer is set
    /// for the events that it scheduled.
    func withWorld<Result: Sendable, Failure: Error>(
        _ body: @Sendable (KernelWorld) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let now = loop.now
        var released: [any Sendable] = []
        defer { released.removeAll() }
        return try world.withLock { world throws(Failure) -> Result in
            world.enter(at: now)
            defer { released = world.leave() }
            return try body(world)
        }
    }

    /// Executes the due events, then delivers their outputs, after unlocking.
    private func pump() {
        for output in withWorld({ $0.run() }) { deliver(output) }
    }

    private func deliver(_ output: Output) {
        switch output {
        case .socket(let identifier, let event):
            guard let handler = withWorld({ $0.sockets[identifier]?.handler(for: event) }) else { return }
            handler.value(event)
            switch event {
            case .readable: withWorld { $0.sockets[identifier]?.didReportReadable() }
            case .writable: break
            case .closed: withWorld { $0.sockets[identifier]?.close() }
            }
        case .accepted(let listener, let identifier):
            let peer = withWorld { ($0.sockets[identifier] as? L2CAPSocketState)?.peer }
            let socket = SimulatedL2CAPSocket(radio: self, identifier: identifier, peer: peer ?? .zero)
            guard let accept = withWorld({ $0.listeners[listener]?.accept }) else { return socket.close() }
            let handler = LoopBound(accept.value(socket), on: loop)
            withWorld { $0.sockets[identifier]?.install(handler) }
        case .peripheral(let end, let event): deliver(event, toPeripheralAt: end)
        case .radioSwitches(let identifier): withWorld({ $0.radioSwitchWatches[identifier]?.handler })?.value()
        case .completion(let completion): completion()
        }
    }

    /// Ends the simulation: closes all sockets and listeners without events, removes all peripherals, and releases all
    /// handlers.
    ///
    /// Handlers mostly retain objects that retain the radio, so that a simulation with an open socket would stay in
    /// memory with its thread. A test that closes its sockets does not need this. In virtual time a minute may pass
    /// afterwards, so that what the program has closed can end.
    public func close() {
        withWorld { world in
            world.closeAll()
            for peripheral in world.peripherals.all.reversed() { peripheral.remove() }
            for identifier in world.peripherals.ends.keys { world.removePeripheralEnd(identifier) }
            for identifier in world.radioSwitchWatches.keys { world.endRadioSwitchWatch(identifier) }
            world.dropOutputs()
        }
        // A closed link's channel is kept until its outstanding response is late.
        virtualTime?.runOut(for: .seconds(60))
    }

    // MARK: Conditions

    /// The radio conditions.
    public var conditions: RadioConditions {
        get { withWorld { $0.conditions } }
        set { withWorld { $0.conditions = newValue } }
    }

    /// The counters so far.
    public var statistics: SimulationStatistics { withWorld { $0.statistics } }
}
