import ArgumentParser
import BluetoothLE
import ExampleSupport
import LINBLE
import LINBLESample

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Show a UART session step by step.",
        discussion: """
            The microcontroller on the device's UART must speak the command protocol of the vendor's sample \
            applications, like that of the simulated LINBLE (--simulate).

            EXAMPLES:
              linble demo --simulate
              linble demo -n LINBLE-Z1 --sample 5
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "UART") var uart: UARTProgramOptions

    @Option(help: ArgumentHelp("How long to sample the sensor, 1 to 60, such as 5.", valueName: "seconds"))
    var sample: UInt8 = 2

    func validate() throws {
        try checkRange(sample, 1...60, "--sample", " seconds")
    }

    func run() async throws {
        let (common, uartOptions, sample) = (common, uart, sample)
        try await common.run("linble demo") { console in
            let device = try await common.uartDevice(uartOptions)
            let story = DemoStory(console)
            try await common.withAdapter(console) { adapter in
                let information = adapter.information
                story.step(
                    "Adapter",
                    "\(information.name)  \(information.address.digits)"
                        + (common.simulate ? "  on a simulated radio" : ""))
                try await common.preparePairing(on: adapter, console)
                let uart = try await common.openUART(device, on: adapter, uartOptions, console) {
                    story.tell($0)
                }
                try await finishing {
                    try await talk(uart, story, console, common.timeout(or: .seconds(5)), sample)
                } then: {
                    await uart.disconnect(timeout: .zero)
                }
                story.step(
                    "Disconnect",
                    "\(quantity(await uart.sentByteCount, "byte")) sent, \(uart.receivedByteCount) received")
            }
        }
    }
}

/// Runs the commands of the sample protocol in turn.
private func talk(
    _ uart: UARTConnection, _ story: DemoStory, _ console: Console, _ timeout: Duration, _ seconds: UInt8
) async throws {
    let client = SampleCommandClient(uart, timeout: timeout) { console.packet($0, $1) }
    do throws(BluetoothError) {
        story.step("Link test", "is a microcontroller connected to the UART?")
        try await client.testLink()
    } catch {
        guard error.code == .timedOut else { throw error }
        throw ProgramError(
            .timedOut, "The device is online, but nothing connected to its UART answers the link test.",
            remedy:
                "This demo speaks the command protocol of the vendor's sample applications. For any other protocol, "
                + "use linble exchange or linble terminal.")
    }

    story.step("Registers", "read register 2; set register 4, read it back, restore it")
    _ = try await client.readRegister(2)
    let before = try await client.readRegister(4)
    try await client.writeRegister(4, value: 0x0F)
    let now = try await client.readRegister(4)
    try await client.writeRegister(4, value: before)
    guard now == 0x0F else {
        throw ProgramError(.protocolError, "Register 4 reads 0x\([now].hexadecimal) after 0x0F was written.")
    }

    story.step("Version", "of the microcontroller's firmware")
    story.say(printable(try await client.readVersion()))

    story.step("Sampling", "a sensor for \(seconds) s")
    var samples: [Double] = []
    let readings = try await client.samples(seconds: seconds)
    for try await sample in readings { samples.append(Double(sample)) }
    story.say(
        "\(samples.count) samples  \(sparkline(samples))  "
            + "\(formatDecimal(samples.min() ?? 0, digits: 2)) to \(formatDecimal(samples.max() ?? 0, digits: 2))")

    story.step("Name", "read it, write it back")
    let name = try await client.readName()
    story.say(printable(name))
    try await client.writeName(name)
}

/// Numbered steps on standard output.
private final class DemoStory: Sendable {
    private let console: Console

    init(_ console: Console) { self.console = console }

    /// Begins a step.
    func step(_ title: String, _ text: String) {
        let padded = title + String(repeating: " ", count: max(0, 12 - title.count))
        console.result(
            "step", console.output.bold(padded) + text, [("title", .string(title)), ("text", .string(text))])
    }

    /// Prints the result of a step.
    func say(_ text: String) {
        console.result("result", String(repeating: " ", count: 12) + text, [("text", .string(text))])
    }

    /// Prints the steps of opening the UART.
    func tell(_ progress: UARTProgress) {
        if progress.scanning != nil {
            step("Scan", progress.text)
        } else if progress.connecting != nil {
            step("Connect", progress.text)
        } else if progress.discovered != nil {
            step("Subscribe", progress.text)
        } else if progress.startingOver != nil {
            console.tell(progress)
        } else {
            say(progress.text)
        }
    }
}
