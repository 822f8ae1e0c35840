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
    private static let powerOffLimit = Duration.seconds(5)

    /// A link's end whose reason is pending.
    private struct Waiting {
        let timer: LoopTimer
        weak var channel: ChannelLife?
        /// The reason if the adapter is not.
        let other: BluetoothError
    }

    private let adapterRecord: AdapterRecord
    private let directory: any HostDirectory
    private let loop: EventLoop
    private let controller: KernelController
    private var waiting: [UInt64: Waiting] = [:]
    private var nextID: UInt64 = 0
    private var isClosed = false

    package init(
        of adapterRecord: AdapterRecord, _ directory: any HostDirectory, _ controller: KernelController,
        on loop: EventLoop
    ) {
        mark = loop.components.mark("LinkEndAttribution")
        self.adapterRecord = adapterRecord
        self.directory = directory
        self.loop = loop
        self.controller = controller
    }

    /// The number of ends whose reason is pending.
    package var waitingCount: Int { waiting.count }

    /// The adapter's error if it caused the failure of a call, or the socket of a channel to end, with `error`, else
    /// `other`; nil if the channel is given either within five seconds.
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
        let id = nextID
        nextID &+= 1
        let timer = loop.makeTimer(of: self) { $0.complete(id, nil) }
        timer.set(after: Self.powerOffLimit)
        waiting[id] = Waiting(timer: timer, channel: channel, other: other)
        return nil
    }

    private func complete(_ id: UInt64, _ reason: BluetoothError?) {
        guard let next = waiting.removeValue(forKey: id) else { return }
        next.channel?.finish(reason.map { next.other.caused(by: $0) } ?? next.other)
    }

    /// Resolves the pending ends with the adapter's error, or, with nil, with their own.
    package func completeAll(_ reason: BluetoothError?) {
        for id in waiting.keys.sorted() { complete(id, reason) }
    }

    /// Closes: later ends are not attributed to the adapter.
    package func close() {
        isClosed = true
        completeAll(nil)
    }
}

extension BluetoothError {
    /// The error of a link's end, or of an attempt's, with the adapter's reason.
    fileprivate func caused(by reason: BluetoothError) -> BluetoothError {
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
