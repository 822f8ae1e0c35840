import BluetoothHCI
import BluetoothManagement

// The conditions of the machine that a test may change: hardware, privileges, other programs.
extension SimulatedKernel {
    private func withAdapter(_ index: UInt16, _ body: @Sendable (SimulatedAdapter) -> Void) {
        withHost { host in
            if let adapter = host.adapter(index) { body(adapter) }
        }
    }

    // MARK: Adapters

    /// Plugs an adapter in.
    ///
    /// The kernel reads a new adapter for two seconds before it counts as powered off.
    /// - Returns: the N of its hciN, which is not always the lowest free number.
    @discardableResult
    public func plug(_ controller: SimulatedController = SimulatedController()) -> UInt16 {
        withHost { host in
            host.plug(controller, address: host.world.address(for: controller), isSettled: false).index
        }
    }

    /// Unplugs an adapter, even during operations. The other sides of its links notice by supervision timeout.
    public func unplug(_ index: UInt16) {
        withAdapter(index) { $0.kernel.unplug($0) }
    }

    /// Powers an adapter on or off as another program would.
    public func setPowered(_ isOn: Bool, adapter index: UInt16) {
        withAdapter(index) { adapter in
            guard !isOn || !adapter.isBlocked else { return }
            adapter.setPowered(isOn)
        }
    }

    /// Blocks an adapter by software or hardware, or unblocks it (rfkill). Unblocking does not power it on.
    public func setRadioSwitch(adapter index: UInt16, isSoftBlocked: Bool = false, isHardBlocked: Bool = false) {
        withAdapter(index) { $0.setBlocked(soft: isSoftBlocked, hard: isHardBlocked) }
    }

    /// Limits the size of the encryption keys that the kernel offers on an adapter to 7 to 16 bytes, as its file
    /// `max_key_size` in debugfs does.
    public func setMaximumKeySize(_ size: Int, adapter index: UInt16) {
        withAdapter(index) { $0.pairing.maximumKeySize = UInt8(min(max(size, 7), 16)) }
    }

    /// Takes an adapter out of range of all devices, or back.
    public func setHidden(_ isHidden: Bool, adapter index: UInt16) {
        withAdapter(index) { $0.controller.isHidden = isHidden }
    }

    /// Makes an adapter's controller hang: it answers no command and sends no event.
    public func setSilent(_ isSilent: Bool, adapter index: UInt16) {
        setFault(isSilent ? ControllerFault(.hangs, until: .unbinding) : nil, adapter: index)
    }

    /// Gives an adapter's controller a fault; nil ends it.
    public func setFault(_ fault: ControllerFault?, adapter index: UInt16) {
        withAdapter(index) { $0.controller.fault = fault }
    }

    /// Makes an adapter's controller forget its scan, its advertising and its links, as a controller does whose firmware
    /// restarts: no event reports it.
    public func forgetState(adapter index: UInt16) {
        withAdapter(index) { $0.controller.reset() }
    }

    /// Makes an adapter's controller report Hardware Error with a code, after which the kernel closes and opens the
    /// adapter.
    public func reportHardwareError(_ code: UInt8, adapter index: UInt16) {
        withAdapter(index) { $0.reportHardwareError(code) }
    }

    /// Pauses or resumes the packets that an adapter's controller sends over its links, or over the one to `peer`, to
    /// fill socket buffers.
    public func setSending(_ isSending: Bool, adapter index: UInt16, to peer: BluetoothAddress? = nil) {
        withAdapter(index) { adapter in
            for end in adapter.world.links(of: adapter.controller) where peer == nil || end.peerAddress == peer {
                end.setSending(isSending)
            }
        }
    }

    /// The peers of an adapter's links, by the kernel's addresses.
    public func links(adapter index: UInt16) -> [BluetoothAddress] {
        withHost { host in
            host.adapter(index)?.connections.all.filter { $0.end != nil }.map(\.peer) ?? []
        }
    }

    /// The long term keys in an adapter's kernel.
    public func longTermKeys(adapter index: UInt16) -> [LongTermKey] {
        withHost { $0.adapter(index)?.keys.longTermKeys ?? [] }
    }

    /// The identity resolving keys in an adapter's kernel.
    public func identityResolvingKeys(adapter index: UInt16) -> [IdentityResolvingKey] {
        withHost { $0.adapter(index)?.keys.identityResolvingKeys ?? [] }
    }

    // MARK: The machine

    /// The conditions of the machine.
    public subscript<Value: Sendable>(
        dynamicMember path: WritableKeyPath<MachineConditions, Value> & Sendable
    ) -> Value {
        get { withHost { $0.conditions[keyPath: path] } }
        set { withHost { $0.conditions[keyPath: path] = newValue } }
    }

    // MARK: Management

    /// Makes the kernel refuse a management command with `status`, such as Busy while another program uses it; nil
    /// restores it.
    public func setRefusal(_ status: ManagementStatus?, of opcode: ManagementOpcode) {
        withHost { $0.management.refusals[opcode] = status }
    }

    /// Makes the kernel never answer a management command.
    public func setSilent(_ isSilent: Bool, for opcode: ManagementOpcode) {
        withHost { $0.management.isSilent[opcode] = isSilent }
    }

    /// Simulates another program that discovers devices, so that Start Discovery is Busy.
    public func setDiscoveryTaken(_ isTaken: Bool) {
        withHost { $0.conditions.isDiscoveryTaken = isTaken }
    }
}

extension SimulatedRadio {
    /// Takes two devices out of each other's range, or back; all others still receive both. Unused addresses are
    /// ignored.
    public func setInRange(_ isInRange: Bool, _ one: BluetoothAddress, _ other: BluetoothAddress) {
        withWorld { world in
            guard let one = world.node(at: one), let other = world.node(at: other), one !== other else { return }
            world.setSeparated(!isInRange, one, other)
        }
    }

    /// Breaks the link between two devices at once, for `reason` on both sides.
    public func breakLink(
        _ one: BluetoothAddress, _ other: BluetoothAddress, reason: HCIStatus = .connectionTimeout
    ) {
        withWorld { world in
            for end in world.links.flatMap(\.ends) where end.localAddress == one && end.peerAddress == other {
                end.link.end(reason: reason)
            }
        }
    }

    /// Lets time pass without a running ``run(limit:stallGrace:_:)``, until ``pauseTime()``. Without effect in real
    /// time.
    public func resumeTime() {
        virtualTime?.resumeTime()
    }

    /// Balances one ``resumeTime()``.
    public func pauseTime() {
        virtualTime?.pauseTime()
    }
}
