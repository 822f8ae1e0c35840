import ArgumentParser
import BluetoothLE
import ExampleSupport

struct ReadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read", abstract: "Read values of a device.",
        discussion: """
            \(AttributeSelector.help)

            Prints a line for each: the bytes, and the text or the meaning. Ends with the first that is refused.

            EXAMPLES:
              ble read -n Pulse-Z1 2A19
              ble read -n Pulse-Z1 --text 2A00
              ble read -n Pulse-Z1 0x0003 180F/2A19/2904
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "What to read.")
    var attributes: [AttributeSelector]

    @Flag(
        exclusivity: .exclusive,
        help: "What to print: all of it, the digits alone, the text alone, or the bytes as they are.")
    var form = ValueForm.full

    func run() async throws {
        let (common, attributes, form) = (common, attributes, form)
        try await common.run("ble read") { console in
            try common.validateDevice()
            let timeout = common.timeout(or: .seconds(30))
            try await common.withConnection(console) { connection in
                for attribute in try await connection.choose(attributes, timeout: timeout) {
                    let value = try await connection.read(attribute, timeout: timeout)
                    try console.show(value, of: attribute, as: form)
                }
            }
        }
    }
}

/// How values are printed.
enum ValueForm: String, EnumerableFlag, Sendable {
    case full, hex, text, raw

    static func help(for value: ValueForm) -> ArgumentHelp? {
        switch value {
        case .full: "Name, handle, bytes and text (the default)."
        case .hex: "Only the hexadecimal digits."
        case .text: "Only the text; a value that is none is bad data."
        case .raw: "The bytes as they are, with nothing between or after them."
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
                    .badData, "The value of \(attribute.title) is no text: \(value.hexadecimal)",
                    remedy: "Without --text, or with --hex or --raw, it can be shown.")
            }
            result(text)
        case .raw: result(value)
        }
    }
}
