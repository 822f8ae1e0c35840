import ArgumentParser
import BluetoothLE
import ExampleSupport

struct WriteCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "write", abstract: "Write an attribute value.",
        discussion: """
            \(AttributeSelector.help) \(AdapterOptions.several)

            VALUE is hexadecimal digits such as 01A0 or '01 A0', text:WORDS, file:PATH, or file:- for standard input. \
            With --format, it is in that format: text, or one or several numbers, such as 1234 or '1 -2 0x30'.

            Without --request or --command, the value is written by request if the characteristic permits that, \
            otherwise by command.

            EXAMPLES:
              ble write -n Pulse-Z1 2A39 01
              ble write -n Pulse-Z1 CA010001-1234-5678-9ABC-DEF012345678 text:hello
              ble write -n Pulse-Z1 CA010001-1234-5678-9ABC-DEF012345678 file:value.bin
              ble write -n Pulse-Z1 0x0026 --request '01 A0'
              ble write -n Pulse-Z1 0x0026 --format i16 -1234
              ble write -n Pulse-Z1 0x0026 --format sfloat '36.6 NaN'
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(help: "The attribute to write.", completion: .attributes, transform: AttributeSelector.parse)
    var attribute: AttributeSelector

    // Unrecognized arguments include negative numbers.
    @Argument(parsing: .allUnrecognized, help: "The value; several words are joined by spaces.")
    var value: [String]

    @Option(help: ValueFormat.help, completion: .list(ValueFormat.names), transform: ValueFormat.parse)
    var format: ValueFormat?

    @Flag(exclusivity: .exclusive)
    var way: WriteWay?

    func validate() throws {
        _ = try written
    }

    private var written: WrittenValue {
        get throws { try WrittenValue(value.joined(separator: " "), format: format) }
    }

    var inputs: [String?] {
        guard case .file(let path)? = try? written else { return [] }
        return [path]
    }

    /// Reads a file once, so that the value is the same in each repetition.
    mutating func prepare() async throws {
        value = [try await written.bytes().hexadecimal]
        format = ValueFormat("hex")
    }

    func perform(on connection: Connection, _ console: Console) async throws {
        let (bytes, timeout) = (try await written.bytes(), common.timeout(or: .seconds(30)))
        let needed: CharacteristicProperties = [.write, .writeWithoutResponse]
        for attribute in try await connection.choose([attribute], needing: needed, common) {
            let way = way ?? WriteWay(for: attribute)
            try await attribute.named {
                switch way {
                case .request: try await connection.write(bytes, to: attribute, timeout: timeout)
                case .command: try await connection.writeCommand(bytes, to: attribute, timeout: timeout)
                }
            }
            console.wrote(bytes, to: attribute, way)
        }
    }
}

extension Console {
    fileprivate func wrote(_ value: [UInt8], to attribute: ChosenAttribute, _ way: WriteWay) {
        let (count, how) = (value.count, way == .command ? " by command" : "")
        result(
            "written", "wrote \(quantity(count, "byte")) to \(attribute.title)\(how)",
            [
                ("uuid", JSONValue(attribute.uuid.map { "\($0)" })),
                ("handle", .integer(Int(attribute.attributeHandle.rawValue))), ("bytes", .integer(count)),
                ("way", .string(way.rawValue)),
            ])
    }
}

/// A value given on the command line.
enum WrittenValue: Sendable {
    case bytes([UInt8])
    case file(String)

    /// Parses the argument.
    /// - Throws: `ValidationError`, which names the accepted forms.
    init(_ text: String, format: ValueFormat?) throws {
        if let format {
            do throws(ValueFormatError) {
                self = .bytes(try format.encode(text))
            } catch {
                throw ValidationError("\(error).")
            }
        } else if text.hasPrefix("text:") {
            self = .bytes(Array(text.dropFirst(5).utf8))
        } else if text.hasPrefix("file:"), text != "file:" {
            self = .file(String(text.dropFirst(5)))
        } else if let bytes = [UInt8](hexadecimal: text) {
            self = .bytes(bytes)
        } else {
            throw ValidationError(
                "'\(text)' is not a value: give hexadecimal digits (01A0), text:WORDS or file:PATH, or a --format such as "
                    + "u16.")
        }
    }

    func bytes() async throws -> [UInt8] {
        switch self {
        case .bytes(let bytes): return bytes
        case .file(let path): return try await contents(of: path, limit: 1 << 16)
        }
    }
}
