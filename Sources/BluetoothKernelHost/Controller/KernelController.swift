import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Logging

/// A controller beside the kernel that drives it: commands and events on a raw HCI socket, links and scanner.
///
/// The socket is open as long as a component needs it; without radio activity it receives nothing.
//
// Lives on the loop, with the adapter.
// Holds more than ten variables: the parts of a controller, and what they are given.
package final class KernelController: HCIReceiver {
    private let mark: ComponentCount.Mark
    private let kernel: any BluetoothKernel
    private let log: Logger
    private let commands: HCICommandQueue
    let links: KernelLinks
    let phyPolicy: PHYPolicy
    private let scanner: KernelScanner
    let health: KernelHealth
    private let directory: any HostDirectory
    private var isClosed = false
    /// Those who wait for the ends of links, which are told of them before the receiver is.
    var linkEnds = HandlerList<UInt16>()
    /// Retained, since each report passes here.
    private var receiver: (any HostReceiver)?

    package init(
        _ adapter: AdapterInformation, in directory: any HostDirectory, management: ManagementClient,
        on kernel: any BluetoothKernel, log: Logger, trace: PacketSynthesis?
    ) {
        mark = kernel.loop.components.mark("KernelController")
        (self.directory, self.kernel, self.log) = (directory, kernel, log)
        commands = HCICommandQueue(adapter: adapter.index, on: kernel, log: log, trace: trace)
        let initialParameters = InitialParameters(of: adapter.address, commands, management, log: log)
        phyPolicy = PHYPolicy(of: adapter.address, commands, management, log: log)
        links = KernelLinks(commands, initialParameters, phyPolicy, on: kernel, log: log)
        let scanner = KernelScanner(
            adapter.ownAddress, AdapterMarks(of: adapter, on: kernel), commands, management, on: kernel, log: log)
        self.scanner = scanner
        health = KernelHealth(of: adapter.publicAddress, commands, management, scanner, on: kernel)
        commands.receiver = self
    }

    package var scanning: any HostScanning { scanner }

    /// Whether the adapter is being powered off, according to its commands.
    var isPoweringOff: Bool {
        commands.receiveWaiting()
        return scanner.isLeaving
    }

    /// Prepares the kernel for a request; releasing the result undoes it.
    nonisolated(nonsending) func prepare(_ request: LinkRequest) async throws(BluetoothError) -> AnyObject {
        let preparation: AnyObject = request.channel == .attribute ? try await links.prepare(request) : self
        await scanner.prepareToConnect(timeout: request.remaining(at: kernel.loop.now))
        return preparation
    }

    /// Whether the socket is open.
    package var hasSocket: Bool { commands.hasSocket }

    /// Registers the receiver of the host's events.
    func start(_ receiver: any HostReceiver) {
        self.receiver = receiver
        (scanner.receiver, health.receiver) = (receiver, receiver)
    }

    // MARK: Suspension and end

    /// Delivers the events and answers that have arrived.
    package func receiveWaiting() { commands.receiveWaiting() }

    /// Suspends the controller: the adapter cannot be used for now.
    package func suspend(_ reason: BluetoothError) { end(reason, isForGood: false) }

    /// Resumes with the adapter as it is now; returns false if it was not suspended.
    package func resume(with adapter: AdapterInformation) -> Bool {
        guard commands.end != nil, !isClosed else { return false }
        commands.reopen(adapter.index)
        scanner.resume(with: adapter.ownAddress)
        links.resume()
        receiver?.receive(.resumed)
        return true
    }

    /// Closes the controller.
    package func close(_ reason: BluetoothError) { end(reason, isForGood: true) }

    private func end(_ reason: BluetoothError, isForGood: Bool) {
        if isForGood, !isClosed { links.close() }
        isClosed = isClosed || isForGood
        guard commands.end == nil else {
            if isForGood { scanner.fail(reason, isForGood: true) }
            return
        }
        // The reasons why links have ended come before the adapter's own end.
        commands.receiveWaiting()
        commands.refuse(reason)
        links.end(reason)
        receiver?.receive(.ended(reason, isForGood: isForGood))
        scanner.end(reason, isForGood: isForGood)
        commands.close()
    }

    // MARK: Events

    package func handle(_ event: SocketEvent) { commands.handle(event, for: self) }

    package func receive(_ reports: AdvertisingReports) { receiver?.receive(reports) }

    package func receive(_ event: HCIEventPacket) throws(TruncatedBytes) {
        if let event = try event.connectionComplete() {
            links.began(event)
            scanner.connectionAttemptEnded()
        } else if event.code == LEScanTimeout.code {
            scanner.scanTimedOut()
        } else if let error = try event.as(HCIHardwareError.self) {
            health.report(.init(.hardwareError(code: error.value)), isCertain: true)
        } else {
            guard let handle = try links.receive(event) else { return }
            // Deferred, since the packet is still being received.
            kernel.loop.executeLocally { [self] in
                linkEnds(handle)
                receiver?.receive(.linkEnded)
            }
        }
    }

    package func receiveOthers(_ command: AnyHCICommand, _ status: HCIStatus) {
        scanner.receiveOthers(command, status)
        links.receiveOthers(command, status)
    }

    package func wasUnanswered(_ command: HCIOpcode) {
        health.report(.init(.unanswered(command: "\(command)")), isCertain: true)
    }

    // If the adapter is off or gone, its directory has not reported it yet.
    package func couldNotSend() { directory.refresh(AdapterID(hci: commands.index)) }

    package func socketClosed(_ error: KernelError) {
        suspend(.controller(.init("use the adapter", adapter: commands.name), error, kernel.environment()))
    }

    package var batching: Duration { links.isIdle ? scanner.batching : .zero }

    package var needsSocket: Bool { !links.isIdle || scanner.needsSocket }

    package func socketDidClose() { scanner.stoppedWatching() }
}

/// The address type that the adapter uses where the program, not the kernel, sends the controller commands.
enum OwnAddress: Hashable, Sendable {
    /// The public address.
    case `public`
    /// The static random address, which the kernel has set in the controller.
    case `static`
    /// A non-resolvable private address that changes.
    case `private`

    /// The HCI own address type.
    var type: LEOwnAddressType { self == .public ? .public : .random }
}

extension AdapterInformation {
    /// The address type that the adapter uses.
    fileprivate var ownAddress: OwnAddress {
        usesPrivateAddresses ? .private : publicAddress.isZero ? .static : .public
    }
}
