import BluetoothPrimitives

/// An LE Meta event, identified by its subevent code (Core Vol 4 Part E §7.7.65).
public enum HCILEMetaEvent: ~Escapable {
    /// LE Connection Complete (§7.7.65.1).
    case connectionComplete(LEConnectionComplete)
    /// LE Enhanced Connection Complete, which also has the private addresses in use (§7.7.65.10).
    case enhancedConnectionComplete(LEConnectionComplete)
    /// Advertising reports: LE Advertising Report, LE Directed Advertising Report or LE Extended Advertising Report
    /// (§7.7.65.2, §7.7.65.11, §7.7.65.13).
    case advertisingReports(AdvertisingReports)
    /// LE Connection Update Complete (§7.7.65.3).
    case connectionUpdateComplete(LEConnectionUpdateComplete)
    /// LE Read Remote Features Complete (§7.7.65.4).
    case readRemoteFeaturesComplete(LERemoteFeatures)
    /// LE Remote Connection Parameter Request (§7.7.65.6).
    case remoteConnectionParameterRequest(ConnectionHandle, LEConnectionParameters)
    /// LE Data Length Change (§7.7.65.7).
    case dataLengthChange(LEDataLengthChange)
    /// LE PHY Update Complete (§7.7.65.12).
    case phyUpdateComplete(LEPHYUpdate)
    /// LE Scan Timeout (§7.7.65.17).
    case scanTimeout
    /// LE Advertising Set Terminated (§7.7.65.18).
    case advertisingSetTerminated(LEAdvertisingSetTerminated)
    /// Another subevent.
    case unknown(LESubeventCode, parameters: RawSpan)

    /// Decodes the parameters of an LE Meta event, whose first byte is the subevent code.
    @inlinable @inline(__always)
    @_lifetime(copy parameters)
    init(decoding parameters: RawSpan) throws(TruncatedBytes) {
        var reader = ByteReader(parameters)
        let subevent = try reader.readUInt8()
        // A fast path for reports, which come in thousands.
        switch subevent {
        case 0x02: self = .advertisingReports(try AdvertisingReports(layout: .legacy, reading: reader))
        case 0x0D: self = .advertisingReports(try AdvertisingReports(layout: .extended, reading: reader))
        case 0x0B: self = .advertisingReports(try AdvertisingReports(layout: .directed, reading: reader))
        default:
            self = try HCILEMetaEvent(
                subevent: LESubeventCode(rawValue: subevent), parameters: reader.readRemaining())
        }
    }

    @usableFromInline
    @_lifetime(copy parameters)
    init(subevent: LESubeventCode, parameters: RawSpan) throws(TruncatedBytes) {
        var reader = ByteReader(parameters)
        switch subevent {
        case .connectionComplete:
            self = .connectionComplete(try LEConnectionComplete(reading: &reader, isEnhanced: false))
        case .enhancedConnectionComplete:
            self = .enhancedConnectionComplete(try LEConnectionComplete(reading: &reader, isEnhanced: true))
        case .connectionUpdateComplete:
            self = .connectionUpdateComplete(try LEConnectionUpdateComplete(reading: &reader))
        case .readRemoteFeaturesComplete: self = .readRemoteFeaturesComplete(try LERemoteFeatures(reading: &reader))
        case .remoteConnectionParameterRequest:
            self = .remoteConnectionParameterRequest(
                try reader.readConnectionHandle(), try LEConnectionParameters(reading: &reader))
        case .dataLengthChange: self = .dataLengthChange(try LEDataLengthChange(reading: &reader))
        case .phyUpdateComplete: self = .phyUpdateComplete(try LEPHYUpdate(reading: &reader))
        case .scanTimeout: self = .scanTimeout
        case .advertisingSetTerminated:
            self = .advertisingSetTerminated(try LEAdvertisingSetTerminated(reading: &reader))
        default: self = .unknown(subevent, parameters: parameters)
        }
    }

    /// The subevent code.
    public var subevent: LESubeventCode {
        switch self {
        case .connectionComplete: return .connectionComplete
        case .enhancedConnectionComplete: return .enhancedConnectionComplete
        case .advertisingReports(let reports): return reports.layout.subevent
        case .connectionUpdateComplete: return .connectionUpdateComplete
        case .readRemoteFeaturesComplete: return .readRemoteFeaturesComplete
        case .remoteConnectionParameterRequest: return .remoteConnectionParameterRequest
        case .dataLengthChange: return .dataLengthChange
        case .phyUpdateComplete: return .phyUpdateComplete
        case .scanTimeout: return .scanTimeout
        case .advertisingSetTerminated: return .advertisingSetTerminated
        case .unknown(let subevent, _): return subevent
        }
    }

    /// The name of the subevent and its parameters.
    public var description: String {
        switch self {
        case .connectionComplete(let event), .enhancedConnectionComplete(let event): return "\(subevent): \(event)"
        case .advertisingReports(let reports): return "\(subevent): \(reports.description)"
        case .connectionUpdateComplete(let event): return "\(subevent): \(event)"
        case .readRemoteFeaturesComplete(let event): return "\(subevent): \(event)"
        case .remoteConnectionParameterRequest(let handle, let parameters):
            return "\(subevent): handle \(handle), \(parameters)"
        case .dataLengthChange(let event): return "\(subevent): \(event)"
        case .phyUpdateComplete(let event): return "\(subevent): \(event)"
        case .scanTimeout: return "\(subevent)"
        case .advertisingSetTerminated(let event): return "\(subevent): \(event)"
        case .unknown(_, let parameters):
            return
                "\(subevent): \(subevent.carriesSecret ? "\(parameters.byteCount) bytes" : [UInt8](parameters).hexadecimal)"
        }
    }

    func encodeParameters(into writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(subevent.rawValue)
        switch self {
        case .connectionComplete(let event): try event.write(to: &writer, isEnhanced: false)
        case .enhancedConnectionComplete(let event): try event.write(to: &writer, isEnhanced: true)
        case .advertisingReports(let reports): try reports.write(to: &writer)
        case .connectionUpdateComplete(let event): try event.write(to: &writer)
        case .readRemoteFeaturesComplete(let event): try event.write(to: &writer)
        case .remoteConnectionParameterRequest(let handle, let parameters):
            try writer.write(handle)
            try parameters.write(to: &writer)
        case .dataLengthChange(let event): try event.write(to: &writer)
        case .phyUpdateComplete(let event): try event.write(to: &writer)
        case .scanTimeout: break
        case .advertisingSetTerminated(let event): try event.write(to: &writer)
        case .unknown(_, let parameters): try writer.write(parameters)
        }
    }
}
