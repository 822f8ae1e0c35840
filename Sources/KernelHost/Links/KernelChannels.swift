import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives

/// The kernel's L2CAP sockets of one adapter.
//
// Lives on the loop, with the session.
final class KernelChannels: HostChannels {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterFacts
    private let kernel: any BluetoothKernel
    private let ends: LinkEnds
    private let trace: PacketSynthesis?

    init(of adapter: AdapterFacts, on kernel: any BluetoothKernel, _ ends: LinkEnds, trace: PacketSynthesis?) {
        mark = kernel.loop.components.mark("KernelChannels")
        (self.adapter, self.kernel, self.ends, self.trace) = (adapter, kernel, ends, trace)
    }

    private var recorder: AdapterTrace? { AdapterTrace(trace, adapter: adapter.information.index) }

    func connect(
        to peer: BluetoothAddress, _ channel: L2CAPChannel, _ options: L2CAPOptions,
        _ handler: @escaping ChannelHandler
    ) throws(ChannelFailure) -> any HostChannel {
        do throws(KernelError) {
            let onEvent: SocketHandler = { event in handler(ChannelEvent(event)) }
            let socket = try kernel.connectL2CAP(
                to: peer, channel: channel, from: adapter.information.address, options: options, onEvent)
            return KernelChannel(socket, recorder, KernelChannel.Events(onEvent, of: channel, on: kernel.loop))
        } catch {
            throw ChannelFailure(error)
        }
    }

    func listen(
        _ channel: L2CAPChannel, _ options: L2CAPOptions,
        _ accept: @escaping (any HostChannel) -> ChannelHandler
    ) throws(ChannelFailure) -> any HostChannelListener {
        do throws(KernelError) {
            let listener = try kernel.listenL2CAP(
                channel: channel, on: adapter.information.address, options: options
            ) { [weak self, loop = kernel.loop] socket in
                let new = KernelChannel(socket, self?.recorder)
                let handler = accept(new)
                let onEvent: SocketHandler = { event in handler(ChannelEvent(event)) }
                new.setEvents(KernelChannel.Events(onEvent, of: channel, on: loop))
                return onEvent
            }
            return KernelChannelListener(listener)
        } catch {
            throw ChannelFailure(error)
        }
    }

    func error(_ failure: ChannelFailure, _ context: ChannelContext) -> BluetoothError {
        .channel(failure, context, kernel.environment())
    }

    func reason(
        of failure: ChannelFailure, otherwise other: BluetoothError, isLocal: Bool,
        then completion: @escaping (BluetoothError) -> Void
    ) -> BluetoothError? {
        ends.reason(of: failure.kernelError, otherwise: other, isLocal: isLocal, then: completion)
    }

    func adapterHasLeft(_ reason: BluetoothError) { ends.completeAll(reason) }

    func close() { ends.close() }

    var unexplainedCount: Int { ends.waitingCount }
}

private final class KernelChannelListener: HostChannelListener {
    private let base: any L2CAPListener

    init(_ base: any L2CAPListener) { self.base = base }

    var channel: L2CAPChannel { base.channel }

    func close() { base.close() }
}
