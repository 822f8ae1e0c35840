import ArgumentParser
import BluetoothLE
import ExampleSupport
import LINBLE
import LINBLESample

struct ExchangeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exchange", abstract: "Send bytes and print the response.",
        discussion: """
            Sends each argument as a packet and waits for its response. Quote several groups of digits to send them as \
            one packet.

            A response is complete when no byte has arrived for --gap seconds. If it is not complete after --timeout \
            seconds (5), the command prints what has arrived and exits with 75. \(AdapterOptions.several)

            EXAMPLES:
              linble exchange 0100 020102
              linble exchange -n LINBLE-Z1 --gap 0.5 '01 00'
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "UART") var uart: UARTProgramOptions

    @Option(
        help: ArgumentHelp(
            "How long no byte must arrive before a response counts as complete, such as 0.5.",
            valueName: "seconds")
    )
    var gap = 0.2

    @Argument(help: ArgumentHelp("Bytes as pairs of hexadecimal digits.", valueName: "hex"))
    var packets: [String]

    func validate() throws {
        for packet in packets {
            guard let bytes = [UInt8](hexadecimal: packet), !bytes.isEmpty else {
                throw ValidationError("'\(packet)' is not hexadecimal: give pairs of digits, such as 0100 or '01 00'.")
            }
        }
        guard gap > 0, gap <= 3600 else {
            throw ValidationError("--gap takes a number of seconds above 0, up to 3600, not \(gap).")
        }
    }

    func run() async throws {
        let (common, uartOptions, gap) = (common, uart, Duration.seconds(gap))
        let packets = packets.compactMap { [UInt8](hexadecimal: $0) }
        try await common.run("linble exchange") { console in
            try await common.withUART(try await common.uartDevice(uartOptions), uartOptions, console) { uart in
                for packet in packets {
                    console.packet(.sent, packet)
                    try await uart.send(packet)
                    var answer: [UInt8] = []
                    // Printed after a failure, too.
                    defer { if !answer.isEmpty { console.packet(.received, answer) } }
                    do {
                        let timeout = common.timeout(or: .seconds(5))
                        guard try await !uart.receive(into: &answer, timeout: timeout, gap: gap) else { continue }
                    } catch let error as BluetoothError where error.code == .timedOut {
                        throw ProgramError.noAnswer(to: packet, of: packets)
                    }
                    throw ProgramError(
                        .timedOut,
                        "The response to \(packet.hexadecimal) is not complete: the device is still sending.",
                        remedy: "Allow more time with --timeout, or end the response at a shorter pause with --gap.")
                }
            }
        }
    }
}

extension UARTConnection {
    /// Appends received bytes to `answer` until none has arrived for `gap`; false if they still arrive after `timeout`.
    ///
    /// - Throws: `.timedOut` if none has arrived within `timeout`; the reason if the link ends.
    fileprivate func receive(into answer: inout [UInt8], timeout: Duration, gap: Duration) async throws -> Bool {
        let start = ContinuousClock.now
        do throws(BluetoothError) {
            while let bytes = try await read(timeout: answer.isEmpty ? timeout : gap) {
                answer += bytes
                if ContinuousClock.now - start >= timeout { return false }
            }
        } catch {
            guard error.code == .timedOut, !answer.isEmpty else { throw error }
        }
        return true
    }
}

extension ProgramError {
    /// With several packets, missing quotes may be the cause.
    fileprivate static func noAnswer(to packet: [UInt8], of packets: [[UInt8]]) -> ProgramError {
        let all = packets.map(\.hexadecimal).joined(separator: " ")
        return ProgramError(
            .timedOut, "No response to \(packet.hexadecimal).",
            remedy: packets.count > 1
                ? "Each argument is a separate packet. To send them as one: linble exchange '\(all)'"
                : "The bytes were sent. Does whatever is connected to the device's UART respond to them?")
    }
}

extension Console {
    /// Prints a packet in the notation of the vendor's documents: `Tx | 0100`.
    func packet(_ direction: SampleCommandClient.Direction, _ bytes: [UInt8]) {
        let name = direction == .sent ? "Tx" : "Rx"
        result(
            name.lowercased(),
            "\(direction == .sent ? output.cyan(name) : output.green(name)) | \(bytes.hexadecimal)",
            [("data", .string(bytes.hexadecimal))])
    }
}
