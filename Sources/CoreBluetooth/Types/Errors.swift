import BluetoothLE
import Foundation

extension BluetoothError {
    /// The error as delegates receive it.
    var coreBluetooth: any Error {
        if let code = cause?.attributeErrorCode, let code = CBATTError.Code(rawValue: Int(code.rawValue)) {
            return CBATTError(code)
        }
        return CBError(coreBluetoothCode, userInfo: [NSLocalizedDescriptionKey: message])
    }

    private var coreBluetoothCode: CBError.Code {
        switch pairingFailure {
        case .keyMissing?: return .peerRemovedPairingInformation
        case nil, .linkLost?: break
        // The one code for a link that could not be encrypted as required.
        default: return .encryptionTimedOut
        }
        switch disconnectReason {
        case .local?: return .operationCancelled
        case .remote?, .remoteLowResources?, .remotePowerOff?, .localHost?: return .peripheralDisconnected
        case .supervisionTimeout?, .attributeTimeout?: return .connectionTimeout
        case .failedToBeEstablished?: return .connectionFailed
        case .authentication? where cause == .controller(.pinOrKeyMissing): return .peerRemovedPairingInformation
        case .authentication?: return .encryptionTimedOut
        case .adapterOff?, .adapterBlocked?, .adapterRemoved?: return .notConnected
        default: break
        }
        switch code {
        case .timedOut: return .connectionTimeout
        case .cancelled: return .operationCancelled
        case .connectionFailed, .busy: return .connectionFailed
        case .disconnected, .adapterOff, .adapterBlocked, .noAdapter: return .notConnected
        case .unsupported, .notPermitted: return .operationNotSupported
        case .invalidArgument: return .invalidParameters
        case .attributesChanged: return .invalidHandle
        case .overflow: return .outOfSpace
        case .notFound: return .unknownDevice
        default: return .unknown
        }
    }
}
