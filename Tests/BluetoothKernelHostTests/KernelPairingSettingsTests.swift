import BluetoothHost
import BluetoothPrimitives
import BluetoothManagement
import TestSupport
import Testing

@testable import BluetoothKernelHost

@Suite struct KernelPairingSettingsTests {
    private enum Input: CaseIterable {
        case send, resend, release, succeed, fail, lose, change, changeBack
    }

    /// The state machine with a model of the kernel.
    private struct Fixture: Hashable {
        var settings = KernelPairingSettings()
        var outstanding: AnyManagementCommand?
        /// The commands received by the kernel since it last lost its state; nil while that does not matter.
        var received: [AnyManagementCommand] = []
        var isWaited = false
    }

    private static let adapter = AdapterInformation(
        id: AdapterID(hci: 0), publicAddress: .zero, manufacturer: CompanyIdentifier(2), version: 12,
        localName: "adapter",
        supportedFeatures: [.powered, .lowEnergy, .secureConnections], activeFeatures: [.powered, .lowEnergy])
    private static let other = PairingSettings(
        ioCapability: .keyboardOnly, isBondable: false, secureConnections: .only)
    private static let reason = BluetoothError(.noAdapter, .init("test"), "")

    /// The adapter has none of the settings.
    private static func needed(_ settings: PairingSettings) -> [AnyManagementCommand] {
        settings.commands(for: adapter).filter { $0 != .setBondable(false) }
    }

    private func inputs(_ fixture: Fixture) -> [Input] {
        Input.allCases.filter { fixture.outstanding != nil || ![.succeed, .fail].contains($0) }
    }

    private func step(_ fixture: inout Fixture, _ input: Input, _ path: [Input]) {
        let before = fixture.settings.state
        let action: KernelPairingSettings.Action?
        switch input {
        case .send:
            action = fixture.settings.send(for: Self.adapter)
            fixture.isWaited = true
        case .release:
            action = nil
            let commands = fixture.settings.release(for: Self.adapter, isLast: false)
            for _ in commands { fixture.settings.restored() }
            if fixture.settings.state != before { #expect(fixture.settings.state == .unsent, "\(path)") }
            // The adapter of this test has none of the settings: what cannot be read is restored.
            let hidden: Set<AnyManagementCommand> = [.setIOCapability(.noInputNoOutput), .setSecureConnections(.off)]
            #expect(hidden.isSuperset(of: commands), "\(path)")
        case .resend:
            action = fixture.settings.resend(for: Self.adapter)
            if before == .unsent { #expect(action == nil, "\(path)") }
        case .succeed, .fail:
            if input == .succeed, let outstanding = fixture.outstanding { fixture.received.append(outstanding) }
            fixture.outstanding = nil
            action = fixture.settings.answered(input == .fail ? Self.reason : nil, for: Self.adapter)
        case .lose:
            action = fixture.settings.adapterLost(Self.reason)
            fixture.received = []
        case .change, .changeBack:
            action = nil
            fixture.settings.wanted = input == .change ? Self.other : PairingSettings()
        }
        perform(action, on: &fixture, path, input)
        check(fixture, path, input)
    }

    private func perform(
        _ action: KernelPairingSettings.Action?, on fixture: inout Fixture, _ path: [Input], _ input: Input
    ) {
        switch action {
        case nil: break
        case .send(let command):
            #expect(fixture.outstanding == nil, "two commands after \(path) \(input)")
            if command == Self.needed(fixture.settings.wanted).first { fixture.received = [] }
            #expect(!fixture.received.contains(command), "sent twice after \(path) \(input)")
            fixture.outstanding = command
        case .finish(let error):
            #expect(error == nil || !fixture.settings.isApplied, "\(path) \(input)")
            fixture.isWaited = false
        }
    }

    private func check(_ fixture: Fixture, _ path: [Input], _ input: Input) {
        let isBusy = fixture.outstanding != nil
        switch fixture.settings.state {
        case .sending, .draining: #expect(isBusy, "\(path) \(input)")
        case .unsent, .lost: #expect(!isBusy && !fixture.isWaited, "\(path) \(input)")
        case .applied(let settings):
            #expect(!isBusy && !fixture.isWaited, "\(path) \(input)")
            #expect(fixture.received == Self.needed(settings), "\(path) \(input)")
        }
    }

    @Test func everyInputInEveryState() throws {
        let reached = try explore(from: Fixture(), inputs: inputs) { step(&$0, $1, $2) }
        #expect(Set(reached.map { name(of: $0.state.settings.state) }).count == 6)
        // From every state the settings are applied eventually, once requested and answered.
        for (state, path) in reached {
            var fixture = state
            step(&fixture, .send, path)
            for _ in 0..<20 where fixture.outstanding != nil { step(&fixture, .succeed, path) }
            #expect(fixture.settings.isApplied, "\(path)")
        }
    }

    private func name(of state: KernelPairingSettings.State) -> String {
        switch state {
        case .unsent: "unsent"
        case .sending: "sending"
        case .draining(let thenSend): "draining \(thenSend)"
        case .applied: "applied"
        case .lost: "lost"
        }
    }

    @Test func whatIsLostIsSentAgainOnceWhenTheAdapterChanges() {
        var fixture = Fixture()
        step(&fixture, .send, [])
        while fixture.outstanding != nil { step(&fixture, .succeed, []) }
        step(&fixture, .resend, [])
        #expect(fixture.outstanding == nil)
        for _ in 0..<2 {
            step(&fixture, .lose, [])
            #expect(fixture.settings.state == .lost)
            step(&fixture, .resend, [])
            step(&fixture, .resend, [])
            while fixture.outstanding != nil { step(&fixture, .succeed, []) }
            #expect(fixture.settings.isApplied)
        }
    }

    private static func adapter(_ current: AdapterFeatures) -> AdapterInformation {
        var adapter = adapter
        adapter.activeFeatures = current.union([.powered, .lowEnergy])
        return adapter
    }

    /// Sends the settings to an adapter with these, and releases them when it has others.
    private func commands(
        _ wanted: PairingSettings, from before: AdapterFeatures, to after: AdapterFeatures
    ) -> (sent: [AnyManagementCommand], restored: [AnyManagementCommand]) {
        var settings = KernelPairingSettings()
        settings.wanted = wanted
        let sent = send(&settings, to: before)
        return (sent, settings.release(for: Self.adapter(after), isLast: false).sorted { "\($0)" < "\($1)" })
    }

    private func send(_ settings: inout KernelPairingSettings, to now: AdapterFeatures) -> [AnyManagementCommand] {
        var sent: [AnyManagementCommand] = []
        var action = settings.send(for: Self.adapter(now))
        while case .send(let command)? = action {
            sent.append(command)
            action = settings.answered(nil, for: Self.adapter(now))
        }
        return sent
    }

    @Test func whatCannotBeReadIsSent() {
        let now: AdapterFeatures = [.bondable, .secureConnections]
        var settings = KernelPairingSettings()
        settings.wanted = PairingSettings(secureConnections: .only)
        _ = send(&settings, to: now)
        // They are exclusive, which the adapter does not tell.
        settings.wanted = PairingSettings()
        #expect(send(&settings, to: now) == [.setSecureConnections(.on), .setIOCapability(.noInputNoOutput)])
        #expect(settings.release(for: Self.adapter(now), isLast: false) == [.setSecureConnections(.on)])
        // The answer is due: the adapter's settings may be about to change.
        #expect(send(&settings, to: now).count == 3)
        settings.restored()
        #expect(send(&settings, to: now) == [.setIOCapability(.noInputNoOutput)])
    }

    @Test func whatIsChangedIsRestored() {
        let none = PairingSettings()
        var (sent, restored) = commands(none, from: [], to: [.bondable, .secureConnections])
        #expect(sent == [.setBondable(true), .setSecureConnections(.on), .setIOCapability(.noInputNoOutput)])
        #expect(restored == [.setBondable(false), .setSecureConnections(.off)])
        // Another program has changed one of them meanwhile.
        (_, restored) = commands(none, from: [], to: [.secureConnections])
        #expect(restored == [.setSecureConnections(.off)])
        // What another program has set remains, also that Secure Connections are exclusive.
        let set: AdapterFeatures = [.bondable, .secureConnections]
        (sent, restored) = commands(none, from: set, to: set)
        #expect(sent == [.setIOCapability(.noInputNoOutput)])
        #expect(restored == [])
        (sent, restored) = commands(
            PairingSettings(ioCapability: .keyboardOnly, secureConnections: .only), from: set, to: set)
        #expect(sent == [.setSecureConnections(.only), .setIOCapability(.keyboardOnly)])
        #expect(restored == [.setIOCapability(.noInputNoOutput), .setSecureConnections(.on)])
    }
}

extension AnyManagementCommand {
    fileprivate static func setBondable(_ isOn: Bool) -> Self { .init(ManagementSetBondable(isOn)) }
    fileprivate static func setIOCapability(_ value: IOCapability) -> Self { .init(ManagementSetIOCapability(value)) }
    fileprivate static func setSecureConnections(_ mode: SecureConnectionsMode) -> Self {
        .init(ManagementSetSecureConnections(mode))
    }
}
