import BluetoothATT
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

extension Link {
    var maximumSignedLength: Int { ATTValueLimits(mtu: maximumTransmissionUnit).signedWrite }

    nonisolated(nonsending) func writeSigned(
        _ value: [UInt8], to attribute: some RemoteAttribute, signer: any AttributeSigner, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        let handle = try current(attribute, "write signed")
        let operation = BluetoothError.Operation("write signed", peer: peer, attribute: handle)
        let bearer = try bearer(for: operation)
        if let characteristic = attribute as? RemoteCharacteristic,
            !characteristic.properties.contains(.authenticatedSignedWrites)
        {
            throw BluetoothError(
                .unsupported, operation, "The characteristic does not support signed writes.",
                remedy: "Its properties are \(characteristic.properties).")
        }
        if try security().level >= .medium {
            return try await writeCommand(value, to: handle, timeout: timeout)
        }
        guard value.count <= maximumSignedLength else {
            throw .invalidArgument(
                operation,
                "A Signed Write Command has at most \(maximumSignedLength) bytes of value on this link, not \(value.count)."
            )
        }
        let timeout =
            try await databaseIfAny?.confirm(handle, attribute.attributeType, self, operation.name, timeout: timeout)
            ?? timeout
        if Task.isCancelled { throw .cancelled(operation) }
        let command = SignedCommandCall(value, to: handle, signer, operation, on: bearer)
        bearer.submit(command)
        try await command.call.value(operation, timeout: timeout, on: loop)
    }
}

/// A Signed Write Command with its caller, which waits until the host has accepted it.
///
/// It is signed when sent, so that the counter values are sent in order.
final class SignedCommandCall: CommandMessage {
    let call = Promise<Void, BluetoothError>()
    private let value: [UInt8]
    private let handle: AttributeHandle
    private let signer: any AttributeSigner
    private let operation: BluetoothError.Operation
    private unowned let bearer: ATTBearer
    private var signature: ATTAuthenticationSignature?

    init(
        _ value: [UInt8], to handle: AttributeHandle, _ signer: any AttributeSigner,
        _ operation: BluetoothError.Operation, on bearer: ATTBearer
    ) {
        self.value = value
        self.handle = handle
        self.signer = signer
        self.operation = operation
        self.bearer = bearer
    }

    var isAbandoned: Bool { call.isResolved }

    func write(into writer: inout ByteWriter) throws(TransactionFailure) {
        let number = handle.rawValue
        let message =
            [
                ATTOpcode.signedWriteCommand.rawValue, UInt8(truncatingIfNeeded: number),
                UInt8(truncatingIfNeeded: number >> 8),
            ] + value
        do throws(BluetoothError) {
            if signature == nil { signature = try signer.signature(of: message) }
        } catch {
            call.fail(error)
        }
        guard let signature else { throw .closed }
        do {
            try writer.write(message)
            try writer.write(signature.signCounter)
            try writer.write(signature.messageAuthenticationCode)
        } catch {
            writer.removeAll()
            throw .invalid("A Signed Write Command has at most \(writer.capacity - 15) bytes of value on this link.")
        }
    }

    func end(_ failure: TransactionFailure?) {
        call.resolve(failure, operation, bearerEnd: bearer.closeReason)
    }
}
