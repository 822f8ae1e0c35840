import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Synchronization

/// How time passes in a simulation.
public enum SimulatedTime: Sendable {
    /// At once: when nothing is ready it is the next deadline. For tests.
    case virtual
    /// As on the wall. For people who look on.
    case real
}

/// A radio band in memory, with everything on it: the adapters of one or several simulated kernels, and peripherals.
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
/// on the loop (``run(limit:_:)`` puts it there) and asks nobody else what time it is. All methods may be called from
/// anywhere.
public final class SimulatedRadio: Sendable {
    /// The loop on which everything of this radio happens: its clock, and the thread of all its kernels' sockets.
    public let loop: EventLoop
    let virtualTime: VirtualTimeDriver?
    private let world: Mutex<KernelWorld>

    /// An empty band.
    ///
    /// - Parameters:
    ///   - time: how time passes.
    ///   - seed: what all chance in the simulation comes from.
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
        let timer = loop.makeTimer { [weak self] in self?.pump() }
        world.withLock { $0.install(timer) }
    }

    deinit {
        loop.stop()
    }

    /// The present moment on the radio's clock.
    public var now: KernelInstant { loop.now }

    // MARK: The world

    /// Enters the world. What `body` releases of the program's own is released, and what it schedules is provided for,
    /// when it has returned.
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

    /// Lets happen what is due, then tells those whom it concerns, outside the world.
    private func pump() {
        for output in withWorld({ $0.run() }) { deliver(output) }
    }

    private func deliver(_ output: Output) {
        switch output {
        case .socket(let identifier, let event):
            guard let handler = withWorld({ $0.sockets[identifier]?.handler(for: event) }) else { return }
            handler.value(event)
            switch event {
            case .readable: withWorld { $0.sockets[identifier]?.toldReadable() }
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
        case .radioSwitches(let identifier): withWorld({ $0.radioSwitchHandler(identifier) })?.value()
        }
    }

    /// Ends the simulation: closes all sockets and listeners without telling anybody, takes all peripherals off the air,
    /// and lets go of all handlers.
    ///
    /// Handlers mostly hold what holds the radio, so that a simulation with something open would stay in memory with
    /// its thread. A test that closes what it opens does not need this.
    public func tearDown() {
        withWorld { world in
            world.closeAll()
            for peripheral in world.peripherals.all { peripheral.remove() }
            for identifier in world.peripherals.ends.keys { world.removePeripheralEnd(identifier) }
            world.endRadioSwitchWatches()
            world.dropOutputs()
        }
    }

    // MARK: Conditions

    /// What the air does to packets.
    public var conditions: RadioConditions {
        get { withWorld { $0.conditions } }
        set { withWorld { $0.conditions = newValue } }
    }

    /// What was counted so far.
    public var statistics: SimulationStatistics { withWorld { $0.statistics } }
}
