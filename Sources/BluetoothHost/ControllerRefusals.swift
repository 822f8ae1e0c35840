import BluetoothHCI

extension BluetoothError {
    /// The same end, as it comes to a call.
    package func during(_ operation: Operation) -> BluetoothError {
        var error = self
        error.operation = operation
        return error
    }

    /// The same problem, told of what the caller was doing.
    package func about(_ operation: Operation) -> BluetoothError {
        var error = self
        error.operation = operation
        if case .controller(let status) = cause, code == .failed { error = .linkProcedure(operation, status) }
        return error
    }

    /// Why a controller, or the peer's, would not do something with a link.
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
