import BluetoothKernel
import BluetoothPrimitives

/// A listening L2CAP socket.
final class ListenerState {
    let identifier: Int
    let kernel: HostKernel
    let channel: L2CAPChannel
    let source: BluetoothAddress
    let options: L2CAPOptions
    var accept: LoopBound<L2CAPAcceptHandler>?

    init(
        kernel: HostKernel, channel: L2CAPChannel, source: BluetoothAddress, options: L2CAPOptions,
        accept: LoopBound<L2CAPAcceptHandler>
    ) {
        self.kernel = kernel
        self.channel = channel
        self.source = source
        self.options = options
        self.accept = accept
        identifier = kernel.world.makeIdentifier()
        kernel.world.add(self)
    }

    func close() {
        guard let accept else { return }
        self.accept = nil
        kernel.world.release(accept)
        kernel.world.remove(self)
        kernel.l2cap.remove(self)
    }

    /// Whether a link of `adapter` is for it.
    func matches(_ adapter: Adapter) -> Bool {
        // Zero means any adapter, but its kind still has to be that of the adapter's own address.
        source.isZero ? source.kind == adapter.identityAddress.kind : source == adapter.identityAddress
    }
}
