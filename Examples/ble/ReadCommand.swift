import ArgumentParser
import BluetoothLE
import ExampleSupport

struct ReadCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "read", abstract: "Read attribute values.",
        discussion: """
            \(AttributeSelector.help)

            Prints a line for each: its bytes, and their text or meaning. Stops at the first refusal.

            EXAMPLES:
              ble read -n Pulse-Z1 2A19
              ble read -n Pulse-Z1 --text 2A00
              ble read -n Pulse-Z1 0x0003 180F/2A19/2904
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The attributes to read.", transform: AttributeSelector.parse)
    var attributes: [AttributeSelector]

    @Flag(
        exclusivity: .exclusive,
        help: "The output format.")
    var form = ValueForm.full

    func perform(on connection: Connection, _ console: Console) async throws {
        let timeout = common.timeout(or: .seconds(30))
        for attribute in try await connection.choose(attributes, timeout: timeout) {
            let value = try await connection.read(attribute, timeout: timeout)
            try console.show(value, of: attribute, as: form)
        }
    }
}

/// The output format of values.
enum ValueForm: String, EnumerableFlag, Sendable {
    case full, hex, text, raw

    static func help(for value: ValueForm) -> ArgumentHelp? {
        switch value {
        case .full: "Name, handle, bytes and text (the default)."
        case .hex: "Only the hexadecimal digits."
        case .text: "Only the text; fails with 65 if the value is not text."
        case .raw: "The raw bytes, without separators or line ends."
        }
    }
}

extension Console {
    func show(_ value: [UInt8], of attribute: ChosenAttribute, as form: ValueForm) throws {
        if isJSON {
            result(
                [
                    ("event", .string("value")),
                    ("uuid", JSONValue(attribute.uuid.map { "\($0)" })),
                    ("name", JSONValue(attribute.uuid?.assignedName)),
                    ("handle", .integer(Int(attribute.attributeHandle.rawValue))),
                ] + valueFields(value, of: attribute.uuid))
            return
        }
        switch form {
        case .full: result("\(attribute.title)  " + ValueText.describe(value, of: attribute.uuid, limit: nil))
        case .hex: result(value.hexadecimal)
        case .text:
            guard let text = ValueText.text(value) ?? (value.isEmpty ? "" : nil) else {
                throw ProgramError(
                    .badData, "The value of \(attribute.title) is not text: \(value.hexadecimal)",
                    remedy: "Print it without --text, or with --hex or --raw.")
            }
            result(text)
        case .raw: result(value)
        }
    }
}
