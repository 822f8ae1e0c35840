import BluetoothHCI
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// A need for the events of the controller; dropping it ends it.
final class LinkFollowing: Sendable {
    private let links: LoopBound<KernelLinks>
    private let loop: EventLoop

    init(_ links: KernelLinks) {
        loop = links.loop
        self.links = LoopBound(links, on: loop)
    }

    deinit {
        loop.execute { [links] in links.value.endFollowing() }
    }
}

/// A registration for the events of a link of this program; dropping it ends the registration.
final class KernelLink: HostLink {
    private let mark: ComponentCount.Mark
    private let owner: LoopBound<KernelLinks>
    private let loop: EventLoop
    private let number: UInt64
    /// Whether the controller has reported that the link is encrypted.
    var isEncrypted = false

    init(_ links: KernelLinks, _ number: UInt64) {
        mark = links.loop.components.mark("KernelLink")
        loop = links.loop
        owner = LoopBound(links, on: loop)
        self.number = number
    }

    deinit {
        loop.execute { [owner, number] in owner.value.detach(number) }
    }

    private var links: KernelLinks { owner.value }

    var parameters: ConnectionParameters? { links.parameters(of: number).map { ConnectionParameters($0) } }

    var dataLength: LinkDataLength? { links.dataLength(of: number).map { LinkDataLength($0) } }

    nonisolated(nonsending) func rssi(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> Int? {
        try await links.ask(number, operation, timeout: timeout) { HCIReadRSSI($0) }.power.map { Int($0) }
    }

    nonisolated(nonsending) func transmitPower(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> Int {
        let answer = try await links.ask(number, operation, timeout: timeout) {
            HCIReadTransmitPowerLevel($0, maximum: false)
        }
        guard let power = answer.power else { throw .unreadable(operation) }
        return Int(power)
    }

    nonisolated(nonsending) func phys(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> LinkPHYs {
        LinkPHYs(try await links.ask(number, operation, timeout: timeout) { LEReadPHY($0) })
    }

    nonisolated(nonsending) func setPHYs(
        _ preference: LEPHYPreference, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> LinkPHYs {
        let change = try await links.change(number, operation, timeout: timeout, .phys) { LESetPHY($0, preference) }
        guard case .phys(let phys) = change else { throw .unreadable(operation) }
        return phys
    }

    nonisolated(nonsending) func setDataLength(
        octets: UInt16, time: UInt16, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) {
        _ = try await links.ask(number, operation, timeout: timeout) {
            LESetDataLength($0, octets: octets, time: time)
        }
    }

    nonisolated(nonsending) func setParameters(
        _ parameters: LEConnectionParameters, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> ConnectionParameters {
        try keepParameters(parameters, isPolicy: false, operation)
        let change = try await links.change(number, operation, timeout: timeout, .parameters(parameters)) {
            LEConnectionUpdate($0, parameters)
        }
        guard case .parameters(let now) = change else { throw .unreadable(operation) }
        return now
    }

    func keepParameters(
        _ range: LEConnectionParameters?, isPolicy: Bool, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        try links.watch(of: number, operation).enforcer.keep(range, isPolicy: isPolicy)
    }

    func follow(
        _ operation: BluetoothError.Operation, _ onChange: @escaping (Result<LinkChange, BluetoothError>) -> Void
    ) throws(BluetoothError) {
        try links.watch(of: number, operation).onChange = onChange
    }

    /// The reason for the link's end, given that its channel's socket reports `error`.
    func reasonOfEnd(_ peer: BluetoothAddress, _ error: KernelError) -> BluetoothError {
        let status = links.endReason(of: number)
        let (commands, kernel) = (links.commands, links.kernel)
        return .disconnected(peer, error, status: status, isFollowed: commands.hasSocket) {
            AdapterPresence(of: commands.index, on: kernel)
        }
    }

    /// Fails the calls that wait for the link, for this reason.
    func end(_ reason: BluetoothError) { links.end(number, reason) }

    var isFollowed: Bool { links.commands.hasSocket }

    func disconnect() { links.disconnect(number) }
}
