import ArgumentParser
import BluetoothLE
import ExampleSupport

struct WriteCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "write", abstract: "Write an attribute value.",
        discussion: """
            \(AttributeSelector.help)

            VALUE is hexadecimal digits such as 01A0 or '01 A0', text:WORDS, file:PATH, or file:- for standard input.

            Without --request or --command, the value is written by request if the characteristic permits that, otherwise \
            by command.

            EXAMPLES:
              ble write -n Pulse-Z1 2A39 01
              ble write -n Pulse-Z1 CA010001-1234-5678-9ABC-DEF012345678 text:hello
              ble write -n Pulse-Z1 CA010001-1234-5678-9ABC-DEF012345678 file:value.bin
              ble write -n Pulse-Z1 0x0026 --request '01 A0'
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The attribute to write.", transform: AttributeSelector.parse)
    var attribute: AttributeSelector

    @Argument(help: "The value.", transform: WrittenValue.parse)
    var value: WrittenValue

    @Flag(exclusivity: .exclusive)
    var way: WriteWay?

    mutating func prepare() throws {
        value = .bytes(try value.bytes())
    }

    func perform(on connection: Connection, _ console: Console) async throws {
        let (bytes, timeout) = (try value.bytes(), common.timeout(or: .seconds(30)))
        for attribute in try await connection.choose([attribute], timeout: timeout) {
            let way = way ?? WriteWay(for: attribute)
            switch way {
            case .request: try await connection.write(bytes, to: attribute, timeout: timeout)
            case .command: try await connection.writeCommand(bytes, to: attribute, timeout: timeout)
            }
            console.wrote(bytes, to: attribute, way)
        }
    }
}

/// The procedure that writes a value.
enum WriteWay: String, EnumerableFlag, Sendable {
    case request, command

    static func help(for value: WriteWay) -> ArgumentHelp? {
        switch value {
        case .request: "Write with response: wait for the device's confirmation."
        case .command: "Write without response."
        }
    }

    /// The procedure that the characteristic's properties permit.
    init(for attribute: ChosenAttribute) {
        let properties = attribute.characteristic?.properties ?? .write
        self = properties.contains(.writeWithoutResponse) && !properties.contains(.write) ? .command : .request
    }
}

extension Console {
    fileprivate func wrote(_ value: [UInt8], to attribute: ChosenAttribute, _ way: WriteWay) {
        guard isJSON else {
            let how = way == .command ? " by command" : ""
            return result("wrote \(value.count) \(value.count == 1 ? "byte" : "bytes") to \(attribute.title)\(how)")
        }
        result([
            ("event", .string("written")),
            ("uuid", JSONValue(attribute.uuid.map { "\($0)" })),
            ("handle", .integer(Int(attribute.attributeHandle.rawValue))), ("bytes", .integer(value.count)),
            ("way", .string(way.rawValue)),
        ])
    }
}

/// A value given on the command line.
enum WrittenValue: Sendable {
    case bytes([UInt8])
    case file(String)

    static func parse(_ text: String) throws -> WrittenValue {
        if text.hasPrefix("text:") { return .bytes(Array(text.dropFirst(5).utf8)) }
        if text.hasPrefix("file:") { return .file(String(text.dropFirst(5))) }
        guard let bytes = [UInt8](hexadecimal: text) else {
            throw ValidationError("give hexadecimal digits (01A0), text:WORDS or file:PATH.")
        }
        return .bytes(bytes)
    }

    func bytes() throws -> [UInt8] {
        switch self {
        case .bytes(let bytes): return bytes
        case .file(let path): return try readFile(path == "-" ? "/dev/stdin" : path)
        }
    }
}
