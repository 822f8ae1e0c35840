import BluetoothHost

/// The limits of one direction's packets (Core Vol 6 Part B §4.5.10).
struct DataLengthLimits: Equatable {
    /// The largest payload in bytes.
    var octets = 27
    /// The longest packet in µs.
    var time = 328

    func limited(to other: DataLengthLimits) -> DataLengthLimits {
        DataLengthLimits(octets: min(octets, other.octets), time: min(time, other.time))
    }
}

extension LinkEnd {
    /// The coding of the packets that this side sends: without a preference of its host the same as the other side's,
    /// S=8 if neither has one.
    private var coding: LinkLayerCoding {
        LinkLayerCoding(link.phy, prefersS2: side.prefersS2 ?? other.side.prefersS2 ?? false)
    }

    /// The lesser of what this side would send and what the other one receives. A side whose host has not set its data
    /// length answers with that of the other one.
    private var uncodedDataLength: DataLengthLimits {
        (side.transmitLimits ?? other.side.transmitLimits ?? DataLengthLimits())
            .limited(to: side.node.supportedDataLength)
            .limited(to: other.side.node.supportedDataLength)
    }

    /// The data length of the packets that this side sends. On LE Coded it leaves room for the other side's packets.
    var dataLength: DataLengthLimits {
        var limits = uncodedDataLength
        guard coding.isCoded else { return limits }
        let receive = other.uncodedDataLength
        limits.time = LinkLayerTiming.codedTime(
            limits.time, interval: Int(link.parameters.interval) * 1250, receiveOctets: receive.octets,
            receiveTime: receive.time)
        return limits
    }

    /// The limits of the packets that this side sends.
    var packetLimits: ConnectionEvent.Limits {
        let limits = dataLength
        return ConnectionEvent.Limits(
            coding: coding,
            payload: LinkLayerTiming.payload(octets: limits.octets, time: limits.time, coding))
    }
}

extension SimulatedConnection {
    /// Changes the link and reports the change to both sides, with that of the data length if that has changed.
    func change(_ change: SimulatedLinkChange? = nil, _ action: (SimulatedConnection) -> Void) {
        let before = ends.map(\.dataLength)
        action(self)
        if let change { for end in ends { end.receive(.changed(change)) } }
        guard ends.map(\.dataLength) != before else { return }
        for end in ends { end.receive(.changed(.dataLength)) }
    }
}
