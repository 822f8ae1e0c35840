import BluetoothKernel
import BluetoothPrimitives
import HCI
import KernelHost
import Logging

/// One controller: what it hears while it scans, what it tells of links, and whose turn it is to be connected to.
//
// Lives on the loop, with the adapter.
final class Controller {
    let loop: EventLoop
    let kernel: any BluetoothKernel
    let management: LoopBound<ManagementClient>
    let log: Logger
    private(set) var ownAddress: OwnAddress
    /// What is told the controller, and what it answers.
    private let commands: HCICommandQueue
    private var isClosed = false

    /// Ends the wait for the kernel's answer to the end of a discovery.
    var discoveryTimer: LoopTimer?

    /// What the scanner does, and who listens; see Controller+Scanning.
    var scanner = ScannerStateMachine()
    var audience = ScanAudience()
    /// Who waits for the controller to do as it is told.
    var scanWaiters = WaiterList<Void, BluetoothError>()
    private var nextStreamID: UInt64 = 0
    /// Ends the wait for others that use the scanner.
    var holdTimer: LoopTimer?
    /// Ends the wait of first reports for their scan responses.
    var scanResponseTimer: (timer: LoopTimer, deadline: KernelInstant)?
    /// Has a scan shown another address.
    var privateAddressTimer: LoopTimer?

    /// Who is behind the addresses that are heard.
    var resolution = AddressResolution()
    /// What they call themselves.
    var heardNames = HeardNames()

    /// The links of the controller; see Controller+Links.
    var links = LinkTable()

    /// Whose turn it is to be connected to; see ConnectQueue.
    var connects = ConnectQueue()
    var connectTimer: LoopTimer?

    /// What keeps links that have lost their connection; see LinkHolds.
    var holds = LinkHolds()

    init(
        _ index: UInt16, ownAddress: OwnAddress, management: LoopBound<ManagementClient>,
        on kernel: any BluetoothKernel, log: Logger, trace: PacketSynthesis? = nil
    ) {
        self.management = management
        self.ownAddress = ownAddress
        self.kernel = kernel
        self.log = log
        loop = kernel.loop
        commands = HCICommandQueue(adapter: index, on: kernel, log: log, trace: trace)
        commands.whenSocketEvent = { [weak self] event in
            guard let self else { return }
            commands.handle(event, for: self)
        }
    }

    /// N of hciN; an adapter that was plugged in again may have another.
    var index: UInt16 { commands.index }
    var name: String { commands.name }

    /// Numbers the streams of scans.
    func makeStreamID() -> UInt64 {
        nextStreamID += 1
        return nextStreamID
    }

    // MARK: Commands

    /// Has a handler called when a command cannot be sent: the adapter may be off, or gone, before that is told.
    func setUnreachableHandler(_ handler: @escaping () -> Void) { commands.whenUnreachable = handler }

    /// Sends a command; see ``HCICommandQueue``.
    func send(_ command: HCICommand, completion: @escaping (HCICommandQueue.Answer) -> Void) {
        commands.send(command, completion: completion)
    }

    /// Opens the socket, so that events are told.
    func open(_ operation: BluetoothError.Operation) throws(BluetoothError) { try commands.open(operation) }

    /// Receives what the kernel has for us already.
    func receiveWaiting() { commands.receiveWaiting(for: self) }

    // MARK: Its end

    /// Ends everything: nobody needs it any more, or the adapter is gone, but then not `isForGood`.
    func close(_ reason: BluetoothError, isForGood: Bool = true) {
        isClosed = isClosed || isForGood
        guard closeReason == nil else {
            if isForGood { endScans(reason) }
            return
        }
        // Why links have ended comes before the adapter's own end.
        receiveWaiting()
        commands.refuse(reason)
        links.end(reason)
        connects.end(reason)
        // Of an adapter that is off or gone the kernel tells them itself.
        if isForGood { for connection in connects.connections { connection.giveUp(reason) } }
        connectTimer = nil
        (discoveryTimer, holdTimer, privateAddressTimer) = (nil, nil, nil)
        // Nobody else would end the scan, and a kernel that thinks of a discovery makes no connection.
        let isSwitchedOff = lastScanCommand.map { commands.sendLast($0) } ?? false
        if isSwitchedOff || (isForGood && scanner.leavesDiscovery) {
            let types = scanner.typesToEnd
            management.value.post(.stopDiscovery(types), to: index) { _ in }
        }
        endScans(reason, isForGood: isForGood)
        commands.close()
    }

    /// Why nothing can be done here now.
    var closeReason: BluetoothError? { commands.end }

    /// Whether the socket is open.
    var hasSocket: Bool { commands.hasSocket }

    /// Begins anew with an adapter that is back; false when there is no need to, or no use.
    func reopen(_ index: UInt16, ownAddress: OwnAddress) -> Bool {
        guard closeReason != nil, !isClosed else { return false }
        commands.reopen(index)
        self.ownAddress = ownAddress
        return true
    }

    /// Closes the socket as long as nobody needs it; the next command opens it again.
    func closeIfIdle() {
        guard commands.isIdle, links.isIdle, holds.drains.isEmpty, audience.isEmpty, !scanner.isBusy else { return }
        commands.rest()
        scanner.stoppedWatching()
    }
}

// MARK: - What it tells

extension Controller: HCIReceiver {
    func receive(_ event: HCIEvent) {
        switch event {
        case .leMeta(.advertisingReports(let reports)): receive(reports)
        case .leMeta(.connectionComplete(let event)), .leMeta(.enhancedConnectionComplete(let event)):
            links.began(event)
            connectionAttemptEnded()
        case .disconnectionComplete(let event) where event.status.isSuccess:
            links.ended(event)
            // Later, since the packet is still being received.
            let bound = LoopBound(self, on: loop)
            loop.execute { bound.value.linkEnded(event.handle.rawValue) }
        case .encryptionChange(let event) where event.status.isSuccess && event.isEncrypted:
            // Later, since the packet is still being received.
            if let handler = links.encryptionHandler(of: event.handle) { loop.executeLocally(handler) }
        case .leMeta(.connectionUpdateComplete(let event)): receive(event)
        case .leMeta(.phyUpdateComplete(let event)): receive(event)
        case .leMeta(.dataLengthChange(let event)): receive(event)
        case .leMeta(.scanTimeout): scanTimedOut()
        default: break
        }
    }

    func socketClosed(_ error: KernelError) {
        close(.controller(.init("use the adapter", adapter: name), error, kernel.environment()), isForGood: false)
    }
}
