import BluetoothHCI

extension BluetoothError {
    /// The same link's end as an error of a call.
    package func during(_ operation: Operation) -> BluetoothError {
        var error = self
        error.operation = operation
        return error
    }

    /// The same problem as an error of the caller's operation.
    package func about(_ operation: Operation) -> BluetoothError {
        if let status = cause?.controllerStatus, code == .failed { return .linkProcedure(operation, status) }
        return during(operation)
    }

    /// The error for a link procedure that a controller refused, the peer's or ours.
    package static func linkProcedure(_ operation: Operation, _ status: HCIStatus) -> BluetoothError {
        let (code, isRetryable): (Code, Bool) =
            switch status {
            case .unknownConnectionIdentifier: (.disconnected, true)
            case .unknownHCICommand, .unsupportedFeatureOrParameterValue, .unsupportedRemoteFeature,
                .unsupportedLinkLayerParameterValue, .unknownLMPPDU:
                (.unsupported, false)
            case .invalidHCICommandParameters: (.invalidArgument, false)
            case .commandDisallowed, .controllerBusy, .linkLayerProcedureCollision, .differentTransactionCollision:
                (.busy, true)
            default: (.failed, false)
            }
        return BluetoothError(
            code, operation, "The controller or the peer refused: \(status).", cause: .controller(status),
            isRetryable: isRetryable)
    }
}
