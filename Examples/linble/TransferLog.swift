import ExampleSupport
import LINBLESample

/// The file of `linble bridge --log`: a line for each piece of bytes, with its time and direction.
final class TransferLog: Sendable {
    private static let firstLine = "# linble bridge log: time, direction (Tx to the device, Rx from it), bytes"

    private let file: AppendedFile

    /// Creates the file, or continues one of an earlier bridge.
    init(_ path: String) throws {
        file = try AppendedFile(path, firstLine: Self.firstLine)
    }

    /// Appends a line.
    func write(_ direction: SampleCommandClient.Direction, _ bytes: [UInt8]) throws {
        try file.write("\(timestamp()) \(direction == .sent ? "Tx" : "Rx") | \(bytes.hexadecimal)")
    }
}
