import BluetoothKernel

/// Looks after what concerns no opened adapter: which there are, what happens to them, opening one, and what lives over
/// sockets that the program has brought along.
actor LooseSession: LoopActor {
    nonisolated let loop: EventLoop

    init(on loop: EventLoop) {
        self.loop = loop
    }
}
