import ArgumentParser
import BluetoothLE
import ExampleSupport
import LINBLE

struct ExchangeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exchange", abstract: "Send bytes and print what comes back.",
        discussion: """
            Each argument is sent by itself, and its answer awaited.

            EXAMPLES:
              linble exchange 0100 020102
              linble exchange -n LINBLE-Z1 --gap 0.5 '01 00'
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var uart: UARTProgramOptions

    @Option(
        help: ArgumentHelp(
            "An answer is over when nothing has come for so long; it may arrive in pieces.", valueName: "seconds"))
    var gap = 0.2

    @Argument(help: ArgumentHelp("Bytes as pairs of hexadecimal digits.", valueName: "hex"))
    var packets: [String]

    func validate() throws {
        for packet in packets {
            guard let bytes = [UInt8](hexadecimal: packet), !bytes.isEmpty else {
                throw ValidationError("'\(packet)' is not pairs of hexadecimal digits.")
            }
        }
        guard gap > 0, gap <= 3600 else { throw ValidationError("--gap takes a number of seconds above 0.") }
    }

    func run() async throws {
        let (common, uartOptions, gap) = (common, uart, Duration.seconds(gap))
        let packets = packets.compactMap { [UInt8](hexadecimal: $0) }
        try await common.run("linble exchange") { console in
            try await common.withUART(try common.uartDevice(), uartOptions, console) { uart in
                for packet in packets {
                    console.packet(.sent, packet)
                    try await uart.send(packet)
                    let answer = try await uart.answer(
                        timeout: common.timeout(or: .seconds(5)), gap: gap, to: packet)
                    console.packet(.received, answer)
                }
            }
        }
    }
}

extension UARTConnection {
    /// All bytes until nothing has come for `gap`.
    fileprivate func answer(timeout: Duration, gap: Duration, to packet: [UInt8]) async throws -> [UInt8] {
        var answer: [UInt8] = []
        do throws(BluetoothError) {
            while let bytes = try await read(timeout: answer.isEmpty ? timeout : gap) { answer += bytes }
        } catch {
            guard error.code == .timedOut else { throw error }
            guard !answer.isEmpty else {
                throw ProgramError(
                    .timedOut, "No answer to \(packet.hexadecimal).",
                    remedy: "The bytes were sent. Does what is connected to the device's UART answer them?")
            }
        }
        return answer
    }
}

extension Console {
    /// Prints a packet as the maker's documents have it: `Tx | 0100`.
    func packet(_ direction: SampleCommandClient.Direction, _ bytes: [UInt8]) {
        let name = direction == .sent ? "Tx" : "Rx"
        if isJSON {
            result([
                ("event", .string(name.lowercased())),
                ("data", .string(bytes.hexadecimal)),
            ])
        } else {
            result("\(direction == .sent ? output.cyan(name) : output.green(name)) | \(bytes.hexadecimal)")
        }
    }
}
