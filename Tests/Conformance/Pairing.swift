import BluetoothSockets
import BluetoothPrimitives
import TestSupport
import Testing

/// The input and output capabilities (management Set IO Capability).
enum IOCapability: UInt8, Sendable {
    case displayOnly, displayYesNo, keyboardOnly, noInputNoOutput, keyboardDisplay
}

/// Two adapters that can pair with each other over a link.
struct PairingFixture: Sendable {
    let base: Fixture
    let central: ChannelEnd
    let peripheral: ChannelEnd

    /// The two ends' adapters.
    var adapters: (central: KernelAdapter, peripheral: KernelAdapter) { (base.central, base.peripheral) }

    /// Runs a test on a link of two adapters without keys that store those of pairing.
    static func run(
        central: IOCapability = .noInputNoOutput, peripheral: IOCapability = .noInputNoOutput,
        secureConnections: Bool = true, bondable: Bool = true,
        _ story: @escaping @Sendable (PairingFixture) async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            for (adapter, capability) in [(fixture.central, central), (fixture.peripheral, peripheral)] {
                try await fixture.management.preparePairing(
                    on: adapter, capability, secureConnections: secureConnections, bondable: bondable)
            }
            let ends = try await fixture.link()
            try await story(PairingFixture(base: fixture, central: ends.central, peripheral: ends.peripheral))
        }
    }

    /// Requests pairing of the central's kernel.
    func pairDevice() async throws -> (status: UInt8, parameters: [UInt8]) {
        try await base.management.command(
            ManagementCommand.pairDevice.rawValue, adapters.central.index,
            adapters.peripheral.address.managementBytes + [IOCapability.noInputNoOutput.rawValue])
    }

    /// Raises the security from one end, once the kernel's Security Manager knows the link, which may be a moment after
    /// its attribute channel is up.
    func raise(_ end: ChannelEnd, to level: SecurityLevel) async throws {
        for attempt in 1... {
            do {
                return try await base.kernel.onLoop {
                    try end.socket.raiseSecurity(to: level)
                    end.socket.notifyWhenWritable()
                }
            } catch let error as KernelError {
                guard error.number == .invalidArgument, attempt < 20 else { throw error }
                _ = await base.kernel.loop.sleep(for: .milliseconds(50))
            }
        }
    }

    /// The link's security, as one end reports it.
    func security(_ end: ChannelEnd) async throws -> LinkSecurity {
        try await base.kernel.onLoop { try end.socket.security() }
    }

    /// The question for an adapter's user; nil if none arrives.
    func question(_ code: UInt16, of adapter: KernelAdapter) async -> [UInt8]? {
        await base.management.event(code, of: adapter)?.payload
    }

    /// Answers for an adapter's user; returns the status.
    @discardableResult func answer(
        _ command: ManagementCommand, on adapter: KernelAdapter, _ more: [UInt8] = []
    ) async throws -> UInt8 {
        let peer = adapter.index == base.central.index ? base.peripheral : base.central
        return try await base.management.command(
            command.rawValue, adapter.index, peer.address.managementBytes + more
        ).status
    }

    /// Confirms the `count`th question of each side.
    func confirmBoth(question count: Int = 1) async throws {
        for adapter in [base.central, base.peripheral] {
            let asked = await base.management.events(
                ManagementEvent.userConfirmationRequest, of: adapter, count: count)
            try #require(asked != nil)
            #expect(try await answer(.userConfirmationReply, on: adapter) == 0)
        }
    }

    /// Pairs with Just Works, initiated by the central.
    func pair() async throws {
        try await raise(central, to: .medium)
        try await confirmBoth()
        try #require(await central.recordedEvents { $0.last == .writable && $0.count > 1 } != nil)
        // Both have reported their keys.
        for adapter in [base.central, base.peripheral] {
            try #require(await question(ManagementEvent.newLongTermKey, of: adapter) != nil)
        }
    }

    /// Closes the central's channel, and waits until both adapters report the link's end.
    func disconnect() async throws {
        await central.close()
        _ = try await base.management.succeed(
            .disconnect, on: base.central, base.peripheral.address.managementBytes)
        #expect(await peripheral.end() != nil)
    }
}

extension ManagementUser {
    /// Prepares an adapter for pairing, without stored keys.
    func preparePairing(
        on adapter: KernelAdapter, _ capability: IOCapability = .noInputNoOutput, secureConnections: Bool = true,
        bondable: Bool = true
    ) async throws {
        // An LE-only adapter does not support it, and a dual-mode adapter needs it first.
        _ = try? await succeed(.setSecureSimplePairing, on: adapter, [1])
        _ = try await succeed(.setSecureConnections, on: adapter, [secureConnections ? 1 : 0])
        _ = try await succeed(.setBondable, on: adapter, [bondable ? 1 : 0])
        _ = try await succeed(.setIOCapability, on: adapter, [capability.rawValue])
        _ = try await succeed(.loadLongTermKeys, on: adapter, [0, 0])
        _ = try await succeed(.loadIdentityResolvingKeys, on: adapter, [0, 0])
    }

    /// Loads the keys of New Long Term Key events into an adapter, replacing all others.
    func loadKeys(_ keys: [[UInt8]], on adapter: KernelAdapter) async throws {
        _ = try await succeed(.loadLongTermKeys, on: adapter, [UInt8(keys.count), 0] + keys.flatMap { $0.dropFirst() })
    }

    /// The parameters of all events with `code` of an adapter so far.
    func events(_ code: UInt16, of adapter: KernelAdapter) -> [[UInt8]] {
        Self.payloads(in: events.journal.entries, code, adapter)
    }

    /// The same, once there are `count`; nil if there never are.
    func events(_ code: UInt16, of adapter: KernelAdapter, count: Int) async -> [[UInt8]]? {
        await events(code, of: adapter) { $0.count >= count }
    }

    /// The same, once `areComplete` says that they are the awaited ones; nil if they never are.
    func events(
        _ code: UInt16, of adapter: KernelAdapter, where areComplete: @escaping @Sendable ([[UInt8]]) -> Bool
    ) async -> [[UInt8]]? {
        let entries = await events.journal.wait(on: kernel.loop) { entries in
            areComplete(Self.payloads(in: entries, code, adapter))
        }
        return entries.map { Self.payloads(in: $0, code, adapter) }
    }

    private static func payloads(
        in entries: [SocketRecorder.Entry], _ code: UInt16, _ adapter: KernelAdapter
    ) -> [[UInt8]] {
        entries.compactMap { entry in
            guard case .packet(let packet) = entry, let event = ManagementEvent(packet), event.code == code,
                event.index == adapter.index
            else { return nil }
            return event.payload
        }
    }
}

extension BluetoothAddress {
    /// The address and type of an LE device, as encoded in management commands.
    var managementBytes: [UInt8] {
        (0..<6).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) } + [kind == .public ? 1 : 2]
    }
}
