import BluetoothPrimitives

/// The use of a link, from which its connection parameters, PHYs and data length follow.
public enum ConnectionUse: String, Hashable, Sendable, CaseIterable {
    /// As many bytes a second as possible: a connection interval of 15 to 30 ms, in which the largest packets fit well
    /// on LE 1M and on LE 2M, no peripheral latency, LE 2M, and packets of 251 bytes.
    case throughput
    /// Occasional values: a connection interval of 30 to 50 ms, no peripheral latency, packets of 251 bytes. The PHYs
    /// stay as they are.
    case balanced
    /// Little traffic at little cost of energy: a connection interval of 100 to 125 ms with a peripheral latency of 2.
    /// PHYs and data length stay as they are.
    case lowPower

    /// The connection parameters to request.
    public var parameters: ConnectionParameterRequest {
        switch self {
        // Six packets of 251 bytes with their acknowledgements take 14.8 ms on LE 1M.
        case .throughput: ConnectionParameterRequest(interval: .milliseconds(15)...(.milliseconds(30)))
        case .balanced: .balanced
        case .lowPower: .lowPower
        }
    }

    /// The PHYs to request in both directions; nil for the present ones.
    public var phys: LEPHYSet? { self == .throughput ? .le2M : nil }

    /// The data length to request, in bytes; nil for the present one.
    public var dataLength: Int? { self == .lowPower ? nil : 251 }
}
