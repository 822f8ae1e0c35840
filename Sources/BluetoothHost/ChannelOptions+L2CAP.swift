import BluetoothPrimitives

extension ChannelOptions {
    /// The kernel gives up after 40 s by itself; our own time limit comes first.
    package var socketOptions: L2CAPOptions {
        let smallest: UInt16 = flowControl == .enhancedCreditBased ? 64 : 23
        return L2CAPOptions(
            security: security, receiveMTU: max(smallest, maximumTransmissionUnit), sendBuffer: sendBuffer,
            receiveBuffer: receiveBuffer, connectTimeout: (timeout ?? .seconds(86400)) + .seconds(5),
            flowControl: flowControl)
    }
}
