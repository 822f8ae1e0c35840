extension HCIStatus {
    /// The error number of a socket whose link ended for this reason (`bt_to_errno`).
    var errorNumber: ErrorNumber {
        switch rawValue {
        case 0x01: return ErrorNumber(rawValue: 56)  // EBADRQC
        case 0x02: return .notConnected
        case 0x03: return .inputOutput
        case 0x04, 0x3C: return .hostDown
        case 0x05, 0x18: return .accessDenied
        case 0x06: return ErrorNumber(rawValue: 52)  // EBADE
        case 0x07: return .outOfMemory
        case 0x08, 0x10: return .timedOut
        case 0x09, 0x0A: return ErrorNumber(rawValue: 31)  // EMLINK
        case 0x0B: return .alreadyInProgress
        case 0x0C: return .busy
        case 0x0D, 0x0E, 0x0F, 0x1B: return .connectionRefused
        case 0x11, 0x20, 0x27, 0x29: return .operationNotSupported
        case 0x12: return .invalidArgument
        case 0x13, 0x14, 0x15: return .connectionReset
        case 0x16: return .connectionAborted
        case 0x17: return ErrorNumber(rawValue: 40)  // ELOOP
        case 0x19, 0x1E, 0x23, 0x24, 0x25: return ErrorNumber(rawValue: 71)  // EPROTO
        case 0x1A: return .protocolNotSupported
        default: return .notImplemented
        }
    }
}
