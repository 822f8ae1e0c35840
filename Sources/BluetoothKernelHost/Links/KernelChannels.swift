import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Synchronization

/// The kernel's L2CAP sockets of one adapter.
//
// Lives on the loop, with the session.
package final class KernelChannels: HostChannels {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterRecord
    private let kernel: any BluetoothKernel
    private let ending: LingeringLinks
    private let trace: PacketSynthesis?
    /// Shows other programs that this one listens; its listeners retain it.
    private weak var listening: (any AnyObject & Sendable)?

    init(
        of adapter: AdapterRecord, on kernel: any BluetoothKernel, _ ending: LingeringLinks, trace: PacketSynthesis?
    ) {
        mark = kernel.loop.components.mark("KernelChannels")
        (self.adapter, self.kernel, self.ending, self.trace) = (adapter, kernel, ending, trace)
    }

    private var marks: AdapterMarks { AdapterMarks(of: adapter.information, on: kernel) }

    package var hasOtherListener: Bool { marks.count(.listening) > (listening == nil ? 0 : 1) }

    private var recorder: AdapterTrace? { AdapterTrace(trace, adapter: adapter.information.index) }

    package nonisolated(nonsending) func prepare(_ request: LinkRequest) async throws(BluetoothError) {
        if request.preparation == nil { request.preparation = try await ending.controller.prepare(request) }
        guard request.channel == .attribute else { return }
        try await ending.makeWay(
            to: request.peer, request.operation, timeout: request.remaining(at: kernel.loop.now))
    }

    package func connect(
        _ request: LinkRequest, _ receiver: any ChannelReceiver
    ) throws(BluetoothError) -> any HostChannel {
        guard request.channel != .attribute || ending.isWayClear(to: request.peer) else {
            throw .notPrepared(request.operation)
        }
        let life = ChannelLife(request, ending, recorder, receiver)
        var options = request.options
        // The kernel's own time limit is 40 s; the session's comes first.
        options.connectTimeout = (request.remaining(at: kernel.loop.now) ?? .seconds(86400)) + .seconds(5)
        do throws(KernelError) {
            let socket = try kernel.connectL2CAP(
                to: request.peer, channel: request.channel, from: adapter.information.address, options: options
            ) { event in life.receive(event) }
            return KernelChannel(socket, life, isRecorded: trace != nil, on: kernel.loop)
        } catch {
            let own = BluetoothError.opening(request, error, kernel.environment())
            throw request.channel.isBearer ? ending.ends.reason(of: error, otherwise: own) ?? own : own
        }
    }

    package func listen(
        _ channel: L2CAPChannel, _ options: L2CAPOptions, _ operation: BluetoothError.Operation,
        _ accept: @escaping (any HostChannel) -> (any ChannelReceiver)?
    ) throws(BluetoothError) -> any HostChannelListener {
        do throws(KernelError) {
            let listener = try kernel.listenL2CAP(
                channel: channel, on: adapter.information.address, options: options
            ) { [weak self, ending, loop = kernel.loop] socket in
                // A listener accepts the channel of every link on which no socket has it, whichever side created the
                // link: so also of an attempt from here that succeeds just after it was cancelled.
                guard channel != .attribute || !ending.isGivenUp(socket.peer) else {
                    socket.close()
                    return { _ in }
                }
                return KernelChannel.accept(socket, channel, ending, self?.recorder, on: loop, by: accept)
            }
            guard channel == .attribute else { return KernelChannelListener(listener, nil) }
            let mark = listening ?? marks.hold(.listening)
            listening = mark
            return KernelChannelListener(listener, (mark, ending.controller.links.following()))
        } catch {
            throw .listening(for: channel, operation, error, kernel.environment())
        }
    }

    package func followLinks() -> any AnyObject & Sendable { ending.controller.links.following() }

    package func adapterBecameUnavailable(_ reason: BluetoothError) {
        ending.adapterBecameUnavailable()
        ending.ends.completeAll(reason)
    }

    package func close() {
        ending.ends.close()
        ending.close()
    }

    /// The number of ends whose reason is pending.
    package var unexplainedCount: Int { ending.ends.waitingCount }
}

private final class KernelChannelListener: HostChannelListener {
    private let base: any L2CAPListener
    /// What a listener for attribute channels needs.
    private let needs: Mutex<(mark: (any AnyObject & Sendable)?, following: LinkFollowing)?>

    init(_ base: any L2CAPListener, _ needs: (mark: (any AnyObject & Sendable)?, following: LinkFollowing)?) {
        self.base = base
        self.needs = Mutex(needs)
    }

    var channel: L2CAPChannel { base.channel }

    func close() {
        base.close()
        needs.withLock { $0 = nil }
    }
}
