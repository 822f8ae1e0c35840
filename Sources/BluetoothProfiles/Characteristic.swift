import BluetoothLE
import BluetoothPrimitives

/// A characteristic whose values have a type.
public struct Characteristic<Value: Sendable>: Sendable {
    /// The UUID of the service.
    public let service: BluetoothUUID
    /// The UUID of the characteristic.
    public let uuid: BluetoothUUID
    /// The format of the value.
    public let codec: any CharacteristicCodec<Value>

    /// A characteristic of a service, with this format.
    public init(_ uuid: BluetoothUUID, in service: BluetoothUUID, codec: any CharacteristicCodec<Value>) {
        self.uuid = uuid
        self.service = service
        self.codec = codec
    }
}
