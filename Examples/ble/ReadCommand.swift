import ArgumentParser
import BluetoothLE
import ExampleSupport

struct ReadCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "read", abstract: "Read attribute values.",
        discussion: """
            \(AttributeSelector.help) \(AdapterOptions.several)

            Prints a line for each attribute: its bytes, and what they mean, as the device declares it or else as the \
            specification says. With --format, prints only the value, in that format. Stops at the first value that \
            the device refuses.

            EXAMPLES:
              ble read -n Pulse-Z1 battery-level
              ble read -n Pulse-Z1 2A00 --format text
              ble read -n Pulse-Z1 2A04 --format u16
              ble read -n Pulse-Z1 0x0003 180F/2A19/2904
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(help: "The attributes to read.", completion: .attributes, transform: AttributeSelector.parse)
    var attributes: [AttributeSelector]

    @Option(help: ValueFormat.help, completion: .list(ValueFormat.names), transform: ValueFormat.parse)
    var format: ValueFormat?

    func perform(on connection: Connection, _ console: Console) async throws {
        let timeout = common.timeout(or: .seconds(30))
        for attribute in try await connection.choose(attributes, needing: .read, common) {
            let decoder = try await connection.decoder(for: attribute, format: format, timeout: timeout)
            let value = try await attribute.named { try await connection.read(attribute, timeout: timeout) }
            try console.show(value, of: attribute, decoder, fields: fields(of: attribute))
        }
    }
}

private func fields(of attribute: ChosenAttribute) -> [(String, JSONValue)] {
    [
        ("event", .string("value")), ("uuid", JSONValue(attribute.uuid.map { "\($0)" })),
        ("name", JSONValue(attribute.uuid?.knownName)), ("handle", .integer(Int(attribute.attributeHandle.rawValue))),
    ]
}
