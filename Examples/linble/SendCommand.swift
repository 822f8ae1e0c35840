import ArgumentParser
import BluetoothLE
import ExampleSupport
import LINBLE

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send a file.",
        discussion: """
            Exits when the device has received everything or, with --echo, when as many bytes have been received as were \
            sent. The simulated device LINBLE-ECHO echoes every byte. \(AdapterOptions.several)

            EXAMPLES:
              linble send data.bin
              linble send data.bin --echo back.bin --pace 2000
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "UART") var uart: UARTProgramOptions

    @Option(
        help: ArgumentHelp(
            "Write the received bytes to this new file, and compare them with those sent.", valueName: "file"),
        completion: .file())
    var echo: String?

    @Argument(help: "The file to send.", completion: .file())
    var file: String

    func run() async throws {
        let (common, uartOptions, file, echo) = (common, uart, file, echo)
        try await common.run("linble send", reading: [file], writing: [echo]) { console in
            let contents = try await contents(of: file, limit: 64 << 20)
            let output = try echo.map { try NewFile($0, replacesExisting: common.force, isStream: true) }
            let device = try await common.uartDevice(
                uartOptions, orNamed: common.simulate && echo != nil ? "LINBLE-ECHO" : "LINBLE-Z1")
            // A file of the user's may block: with --echo the loop is left to the link.
            try await common.withUART(device, uartOptions, console, isOnLoop: output == nil) { uart in
                let timeout = common.timeout(or: .seconds(5))
                let start = ContinuousClock.now
                let isIdentical: Bool?
                if let output {
                    isIdentical = try await exchange(contents, over: uart, into: output.stream(), timeout, console)
                } else {
                    try await send(contents, over: uart, showing: console)
                    try await uart.flush()
                    isIdentical = nil
                }
                report(contents.count, ContinuousClock.now - start, isIdentical, console)
                guard isIdentical ?? true else {
                    throw ProgramError(.badData, "The received bytes differ from those sent.")
                }
            }
        }
    }
}

/// Sends in blocks, to show the progress.
private func send(_ contents: [UInt8], over uart: UARTConnection, showing console: Console? = nil) async throws {
    let bar = ProgressBar("sending", total: contents.count, style: console?.messages ?? Style(descriptor: -1))
    var rest = contents[...]
    while !rest.isEmpty {
        try await uart.send(Array(rest.prefix(2048)))
        rest = rest.dropFirst(2048)
        bar.update(contents.count - rest.count)
    }
}

/// Sends and receives concurrently; returns whether the received bytes equal those sent.
private func exchange(
    _ contents: [UInt8], over uart: UARTConnection, into write: @escaping @Sendable ([UInt8]) throws -> Void,
    _ timeout: Duration,
    _ console: Console
) async throws -> Bool {
    async let sending: Void = send(contents, over: uart)
    let isIdentical = try await receive(contents, from: uart, into: write, timeout, console)
    try await sending
    return isIdentical
}

/// Receives as many bytes as were sent; returns whether they are equal.
private func receive(
    _ contents: [UInt8], from uart: UARTConnection, into write: @Sendable ([UInt8]) throws -> Void, _ timeout: Duration,
    _ console: Console
) async throws -> Bool {
    let bar = ProgressBar("echo", total: contents.count, style: console.messages)
    var count = 0
    var isIdentical = true
    while count < contents.count {
        guard let bytes = try await nextBytes(from: uart, after: count, of: contents.count, timeout) else { break }
        try write(bytes)
        let expected = contents[count..<min(contents.count, count + bytes.count)]
        if !expected.elementsEqual(bytes) { isIdentical = false }
        count += bytes.count
        bar.update(count)
    }
    return isIdentical && count == contents.count
}

private func nextBytes(
    from uart: UARTConnection, after count: Int, of total: Int, _ timeout: Duration
) async throws -> [UInt8]? {
    do throws(BluetoothError) {
        return try await uart.read(timeout: timeout)
    } catch {
        guard error.code == .timedOut else { throw error }
        throw ProgramError(
            .timedOut, "Only \(count) of \(quantity(total, "byte")) came back.",
            remedy:
                "Does whatever is connected to the device's UART echo, and fast enough? Send more slowly with --pace.")
    }
}

private func report(_ count: Int, _ duration: Duration, _ isIdentical: Bool?, _ console: Console) {
    let seconds = duration / .seconds(1)
    if console.isJSON {
        var fields: [(String, JSONValue)] = [
            ("event", .string("sent")), ("bytes", .integer(count)),
            ("seconds", .number(seconds)),
        ]
        if let isIdentical { fields.append(("identical", .bool(isIdentical))) }
        console.result(fields)
    } else {
        let comparison = isIdentical.map { $0 ? ", echoed unchanged" : ", echoed with differences" } ?? ""
        console.message(
            "\(quantity(count, "byte")) in \(formatDecimal(seconds, digits: 2)) s (\(formatRate(Double(count) / seconds)))"
                + comparison)
    }
}
