import ArgumentParser
import BluetoothLE
import ExampleSupport
import LINBLE
import LINBLESample

struct ExchangeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exchange", abstract: "Send bytes and print what comes back.",
        discussion: """
            Sends each argument as a packet, and waits for its answer. Several words in quotes are one packet.

            An answer is complete when no byte has arrived for --gap seconds. If there is no complete answer after \
            --timeout seconds (5), prints what has arrived and exits with status 75.

            EXAMPLES:
              linble exchange 0100 020102
              linble exchange -n LINBLE-Z1 --gap 0.5 '01 00'
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var uart: UARTProgramOptions

    @Option(
        help: ArgumentHelp(
            "An answer, which may come in pieces, is complete after this time without a byte.", valueName: "seconds"))
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
                    var answer: [UInt8] = []
                    // Also what has come before a failure.
                    defer { if !answer.isEmpty { console.packet(.received, answer) } }
                    do {
                        let timeout = common.timeout(or: .seconds(5))
                        guard try await !uart.receive(into: &answer, timeout: timeout, gap: gap) else { continue }
                    } catch let error as BluetoothError where error.code == .timedOut {
                        throw ProgramError.noAnswer(to: packet, of: packets)
                    }
                    throw ProgramError(
                        .timedOut,
                        "The answer to \(packet.hexadecimal) was not over in time: the device goes on sending.",
                        remedy: "--timeout gives it longer; with a shorter --gap a shorter pause is its end.")
                }
            }
        }
    }
}

extension UARTConnection {
    /// Adds what comes to `answer` until nothing has come for `gap`; false when more comes after `timeout`.
    ///
    /// - Throws: that nothing has come within `timeout`; why the link ended.
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
    /// When the packet is one of several, quotes may be what was missing.
    fileprivate static func noAnswer(to packet: [UInt8], of packets: [[UInt8]]) -> ProgramError {
        let all = packets.map(\.hexadecimal).joined(separator: " ")
        return ProgramError(
            .timedOut, "No answer to \(packet.hexadecimal).",
            remedy: packets.count > 1
                ? "Each argument is a packet of its own; quotes make them one: linble exchange '\(all)'"
                : "The bytes were sent. Does what is connected to the device's UART answer them?")
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
