import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Logging

/// One controller, beside the kernel that drives it: its commands and events on a raw HCI socket, its links, its scanner.
///
/// The socket is open as long as somebody needs it; while nothing happens on the air it tells nothing.
//
// Lives on the loop, with the adapter.
package final class KernelController: HCIReceiver {
    private let mark: ComponentCount.Mark
    private let kernel: any BluetoothKernel
    private let log: Logger
    private let commands: HCICommandQueue
    let links: KernelLinks
    private let scanner: KernelScanner
    private var isClosed = false
    /// Called when nothing can be done with the adapter for now, or for good.
    package var onEnd: (_ reason: BluetoothError, _ isForGood: Bool) -> Void = { _, _ in }

    package init(
        _ adapter: AdapterInformation, management: ManagementClient, on kernel: any BluetoothKernel, log: Logger,
        trace: PacketSynthesis? = nil
    ) {
        mark = kernel.loop.components.mark("KernelController")
        self.kernel = kernel
        self.log = log
        commands = HCICommandQueue(adapter: adapter.index, on: kernel, log: log, trace: trace)
        links = KernelLinks(commands, on: kernel, log: log)
        scanner = KernelScanner(adapter.ownAddress, commands, management, on: kernel, log: log)
        commands.receiver = self
        links.isLeaving = { [weak scanner] in scanner?.isLeaving ?? false }
    }

    package var scanning: any HostScanning { scanner }

    /// Whether the socket is open.
    package var hasSocket: Bool { commands.hasSocket }

    /// Has a handler called when a command cannot be sent: the adapter may be off, or gone, before that is told.
    package func setUnreachableHandler(_ handler: @escaping () -> Void) { commands.whenUnreachable = handler }

    // MARK: Its ends

    /// Takes note that the adapter cannot be used for now.
    package func leave(_ reason: BluetoothError) { end(reason, isForGood: false) }

    /// Takes note that the adapter can be used again, as it is now; says whether that is news.
    package func comeBack(as adapter: AdapterInformation) -> Bool {
        guard commands.end != nil, !isClosed else { return false }
        commands.reopen(adapter.index)
        scanner.comeBack(as: adapter.ownAddress)
        links.comeBack()
        return true
    }

    /// Ends everything for good: nobody needs it any more.
    package func close(_ reason: BluetoothError) { end(reason, isForGood: true) }

    private func end(_ reason: BluetoothError, isForGood: Bool) {
        isClosed = isClosed || isForGood
        guard commands.end == nil else {
            if isForGood { scanner.fail(reason, isForGood: true) }
            return
        }
        // Why links have ended comes before the adapter's own end.
        commands.receiveWaiting()
        commands.refuse(reason)
        links.end(reason)
        onEnd(reason, isForGood)
        scanner.end(reason, isForGood: isForGood)
        commands.close()
    }

    // MARK: What it tells

    package func handle(_ event: SocketEvent) { commands.handle(event, for: self) }

    package func receive(_ reports: AdvertisingReports) { scanner.receiver?.receive(reports) }

    package func receive(_ event: HCIEvent) {
        switch event {
        case .leMeta(.connectionComplete(let event)), .leMeta(.enhancedConnectionComplete(let event)):
            links.began(event)
            scanner.connectionAttemptEnded()
        case .leMeta(.scanTimeout): scanner.scanTimedOut()
        default: links.receive(event)
        }
    }

    package func receiveOthers(_ command: HCICommand, _ status: HCIStatus) { scanner.receiveOthers(command, status) }

    package func socketClosed(_ error: KernelError) {
        leave(.controller(.init("use the adapter", adapter: commands.name), error, kernel.environment()))
    }

    package var needsSocket: Bool { !links.isIdle || scanner.needsSocket }

    package func socketRests() { scanner.stoppedWatching() }
}

/// What an adapter shows of itself where the program, and not the kernel, tells the controller what to show.
enum OwnAddress: Hashable, Sendable {
    /// The public address.
    case `public`
    /// The static random address, which the kernel has told the controller.
    case `static`
    /// Another one each time, of which nobody can tell whose it is.
    case `private`

    /// How HCI commands name it.
    var type: LEOwnAddressType { self == .public ? .public : .random }
}

extension AdapterInformation {
    /// What the adapter shows of itself.
    fileprivate var ownAddress: OwnAddress {
        usesPrivateAddresses ? .private : publicAddress.isZero ? .static : .public
    }
}
