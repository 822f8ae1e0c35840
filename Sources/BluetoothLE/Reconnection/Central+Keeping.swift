import BluetoothPrimitives

extension Central {
    /// Keeps a device connected until the returned object is disconnected or released, or the central is closed. Needs no
    /// privilege.
    /// - Parameters:
    ///   - peer: the device.
    ///   - options: the options of each connection; the time limit is for the ATT_MTU only, since a device that is out
    ///     of range is waited for.
    ///   - policy: when to connect again.
    public func keepConnected(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions(),
        policy: ReconnectionPolicy = ReconnectionPolicy()
    ) -> KeptConnection {
        KeptConnection(to: .address(peer), by: self, options, policy)
    }

    /// Keeps the device of an advertisement connected, as
    /// ``keepConnected(to:options:policy:)-(BluetoothAddress,_,_)`` does.
    /// - Throws: `.invalidArgument` when the advertisement is anonymous or not connectable.
    public func keepConnected(
        to report: Report, options: ConnectionOptions = ConnectionOptions(),
        policy: ReconnectionPolicy = ReconnectionPolicy()
    ) throws(BluetoothError) -> KeptConnection {
        keepConnected(
            to: try report.advertisement.connectableAddress(for: .init("connect")),
            options: options.hearing(report.advertisement), policy: policy)
    }

    /// Keeps a device connected that is known by its identity resolving key, whatever its private address is.
    ///
    /// A change of the address does not concern a link that is up; afterwards the device is found by scanning, as
    /// ``connect(to:options:)-(DeviceIdentity,_)`` does, however long that takes. Needs CAP_NET_RAW for the scan, unless the
    /// device is bonded.
    public func keepConnected(
        to identity: DeviceIdentity, options: ConnectionOptions = ConnectionOptions(),
        policy: ReconnectionPolicy = ReconnectionPolicy()
    ) -> KeptConnection {
        KeptConnection(to: .identity(identity), by: self, options, policy)
    }
}
