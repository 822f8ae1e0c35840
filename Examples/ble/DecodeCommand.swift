import ArgumentParser
import BluetoothCapture
import BluetoothLE
import ExampleSupport

struct DecodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode", abstract: "Print the packets of a capture in the words of the other commands.",
        discussion: """
            Reads btsnoop files (of --trace, btmon -w or Android) and those of Apple's PacketLogger (pklg), and prints \
            a line for each packet with its time in the capture: advertising reports, links, attribute values with the \
            names from the discovery in the capture, pairing, L2CAP signalling, management packets and notes. HCI \
            commands and other events are counted, and printed with --all. With -, reads standard input and prints \
            each packet as it arrives. Keys and passkeys are never printed.

            -a prints only the packets of one device, its reports and its links; -n prints those of the devices that \
            have advertised a name containing the text. If the file is not a capture, or ends within a packet, the \
            command prints what precedes that and exits with 65.

            EXAMPLES:
              ble decode session.btsnoop
              ble decode session.btsnoop --only att --only link -a C0:98:E5:12:34:58
              ble decode session.btsnoop --all --raw --json
              ble scan --simulate --for 2 --trace - | ble decode -
            """)

    @OptionGroup var scoped: ScopedOptions<DecodeScope>

    @Argument(help: ArgumentHelp("The capture; - is standard input.", valueName: "file"), completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp(
            "Only packets of this protocol: adv, link, att, smp, l2cap, hci, mgmt or note; may be repeated.",
            valueName: "protocol"))
    var only: [CaptureProtocol] = []

    @Flag(help: "Also print HCI commands, their response events, and other data.")
    var all = false

    @Flag(help: "Also print the bytes of each packet.")
    var raw = false

    func run() async throws {
        let (common, file, raw) = (scoped.common, file, raw)
        var kinds = Set(only.map(\.kind))
        if kinds.isEmpty { kinds = Set(CapturedMessage.Kind.allCases).subtracting(all ? [] : [.hci]) }
        let filter = CaptureFilter(
            kinds: kinds, address: common.address.flatMap { BluetoothAddress($0, kind: .public) },
            kind: common.addressType.kind,
            name: common.name)
        try await common.run("ble decode") { console in
            let input = try InputFile(file)
            var reader = CaptureReader()
            var display = CaptureDisplay(console, filter, raw: raw)
            // On a terminal the lines of the packets show the progress.
            let total = console.output.isTerminal ? 0 : input.byteCount
            let progress = ProgressBar("decoding", total: total, style: console.messages, after: .seconds(2))
            var count = 0
            do {
                // Before what is printed at the end.
                defer { progress.clear() }
                while let bytes = try await input.next() {
                    reader.append(bytes)
                    try reader.read { display.show($0) }
                    count += bytes.count
                    if total > 0 { progress.update(count) }
                }
                try Task.checkCancellation()
                try reader.finish()
            } catch let error as CaptureError {
                display.finish(reader)
                throw ProgramError(
                    .badData, "Cannot decode \(file == "-" ? "standard input" : file): \(error).", remedy: error.remedy)
            } catch {
                display.finish(reader)
                throw error
            }
            display.finish(reader)
        }
    }
}

/// A protocol on the command line.
enum CaptureProtocol: String, ExpressibleByArgument, CaseIterable, Sendable {
    case adv, link, att, smp, l2cap, hci, mgmt, note

    var kind: CapturedMessage.Kind {
        switch self {
        case .adv: .advertising
        case .link: .link
        case .att: .attribute
        case .smp: .pairing
        case .l2cap: .l2cap
        case .hci: .hci
        case .mgmt: .management
        case .note: .note
        }
    }
}
