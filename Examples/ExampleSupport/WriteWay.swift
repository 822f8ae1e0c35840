import ArgumentParser
import BluetoothLE

/// The procedure that writes a value.
public enum WriteWay: String, EnumerableFlag, Sendable {
    /// With a response.
    case request
    /// Without one.
    case command

    /// The `--help` text.
    public static func help(for value: WriteWay) -> ArgumentHelp? {
        switch value {
        case .request: "Write with response: wait for the device's confirmation."
        case .command: "Write without response."
        }
    }

    /// The procedure that the characteristic's properties permit.
    public init(for attribute: ChosenAttribute) {
        let properties = attribute.characteristic?.properties ?? .write
        self = properties.contains(.writeWithoutResponse) && !properties.contains(.write) ? .command : .request
    }
}
