import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The attribution of the ends of links and channels to the adapter.
///
/// A link whose adapter is powered off, blocked or unplugged ends like one that the peer or another program has ended:
/// its socket reports the end before the management socket does, with an error that fits either. So the adapter is
/// checked.
package final class LinkEndAttribution {
    private let mark: ComponentCount.Mark
    /// The time limit for the adapter to be reported off after this machine has ended a link. When powering off, the
    /// kernel ends all links first and gives the controller two seconds for each command.
    static let powerOffLimit = Duration.seconds(5)

    private let adapterRecord: AdapterRecord
    private let directory: any HostDirectory
    private let controller: KernelController
    /// The channels whose reasons are pending, or were.
    private var waiting: [WeakReference<ChannelLife>] = []
    private var isClosed = false

    package init(
        of adapterRecord: AdapterRecord, _ directory: any HostDirectory, _ controller: KernelController,
        on loop: EventLoop
    ) {
        mark = loop.components.mark("LinkEndAttribution")
        self.adapterRecord = adapterRecord
        self.directory = directory
        self.controller = controller
    }

    /// The number of ends whose reason is pending.
    package var waitingCount: Int { waiting.count { $0.object?.isUnexplained == true } }

    /// The adapter's error if it caused the failure of a call, or the socket of a channel to end, with `error`, else
    /// `other`; nil if it may yet turn out: ``ChannelLife/explain(_:)`` follows then, unless the limit comes first.
    ///
    /// `isLocal` is whether the controller reported that this machine ended the link.
    func reason(
        of error: KernelError, otherwise other: BluetoothError, isLocal: Bool = false, _ channel: ChannelLife? = nil
    ) -> BluetoothError? {
        switch error.number {
        case .connectionAborted, .connectionReset, .networkDown, .hostUnreachable, .noSuchDevice, .brokenPipe: break
        default: return other
        }
        if isClosed { return other }
        let information = adapterRecord.information
        // Queued events of the adapter are processed before its state is read.
        directory.refresh(information.id)
        let operation = BluetoothError.Operation("use the link", adapter: information.name)
        if let reason = BluetoothError.unavailable(adapterRecord.state, operation) { return other.caused(by: reason) }
        // The error of a socket whose adapter is powered off depends on the controller; the peer cannot be the cause if
        // either reports this machine.
        guard let channel, isLocal || error.number == .connectionAborted || controller.isPoweringOff else {
            return other
        }
        waiting.removeAll { $0.object?.isUnexplained != true }
        waiting.append(WeakReference(to: channel))
        return nil
    }

    /// Resolves the pending ends with the adapter's error, or, with nil, with their own.
    package func completeAll(_ reason: BluetoothError?) {
        let channels = waiting
        waiting = []
        for channel in channels { channel.object?.explain(reason) }
    }

    /// Closes: later ends are not attributed to the adapter.
    package func close() {
        isClosed = true
        completeAll(nil)
    }
}

extension BluetoothError {
    /// The error of a link's end, or of an attempt's, with the adapter's reason.
    func caused(by reason: BluetoothError) -> BluetoothError {
        var error = reason
        error.operation = operation
        error.operation.adapter = reason.operation.adapter
        error.cause = cause
        error.disconnectReason =
            switch reason.code {
            case .noAdapter: .adapterRemoved
            case .adapterBlocked: .adapterBlocked
            default: .adapterOff
            }
        return error
    }
}
