import BluetoothHost
@testable import BluetoothLE
import BluetoothPrimitives
import BluetoothProfiles
import LINBLE

/// Text that people write, and the bytes of terminals and UARTs.
let textDecoders: [FuzzTarget] = [
    FuzzTarget(name: "text") { input in
        let text = String(decoding: input, as: UTF8.self)
        if let uuid = BluetoothUUID(text) {
            require(BluetoothUUID(uuid.description) == uuid, "\(uuid) changed")
            require(BluetoothUUID(uuid.fullDescription) == uuid, "\(uuid) changed")
        }
        for address in [BluetoothAddress(text), BluetoothAddress(text, kind: .random)] {
            guard let address else { continue }
            require(BluetoothAddress(address.description) == address, "\(address) changed")
        }
        if let bytes = [UInt8](hexadecimal: text) {
            require([UInt8](hexadecimal: bytes.hexadecimal) == bytes, "\(bytes) changed")
        }
        _ = (BindKey(text), try? ExportedKey.parse(text), try? OutOfBandData(text: text))
    },
    FuzzTarget(name: "shell-words") { input in
        let text = String(decoding: input, as: UTF8.self)
        _ = ShellWords.unfinished(in: text)
        guard let steps = try? ShellWords.steps(in: text) else { return }
        let quoted = steps.map { $0.words.map { ShellWords.quoted($0) }.joined(separator: " ") }
        let again = try? ShellWords.steps(in: quoted.joined(separator: "\n"))
        require(again?.map(\.words) == steps.map(\.words), "\(steps) became \(again as Any)")
    },
    FuzzTarget(name: "value-text") { input in
        let text = String(decoding: input, as: UTF8.self)
        for format in formats {
            guard let bytes = try? format.encode(text), format.number != nil else { continue }
            guard let numbers = try? format.numbers(bytes) else { return fault("\(text) is no \(format.name)") }
            let written = numbers.map(\.text).joined(separator: " ")
            // Rounded, so that other bytes may stand for it.
            require((try? format.encode(written)) != nil, "\(text) became \(written) of \(format.name)")
        }
        guard let number = DecimalNumber(text) else { return }
        _ = number.double
        guard let again = DecimalNumber(number.text) else { return fault("\(number.text) is no number") }
        require(again.double == number.double, "\(number.text) became \(again.text)")
    },
    FuzzTarget(name: "network-address") { input in
        guard let address = NetworkAddress(String(decoding: input, as: UTF8.self)) else { return }
        require(NetworkAddress(address.description) == address, "\(address) changed")
    },
    FuzzTarget(name: "sensor-keys") { input in
        let text = String(decoding: input, as: UTF8.self)
        Task(executorPreference: InlineExecutor()) {
            if let keys = try? await SensorKeys(["/" + text]) { check(keys, of: text) }
        }
    },
    FuzzTarget(name: "framer") { input in
        var source = ByteSource(input)
        let choice = source.byte()
        let (least, most) = (Int(choice >> 6), Int(source.byte()))
        let width = [LengthPrefixFramer.Width.one, .two, .four][Int(choice % 3)]
        let prefix = LengthPrefixFramer(
            width: width, isLittleEndian: choice & 8 != 0, countsItself: choice & 16 != 0, minimumFrameLength: least,
            maximumFrameLength: most)
        let delimiter = source.bytes(atMost: 3)
        let bytes = source.rest()
        check(prefix, bytes)
        check(DelimiterFramer(delimiter: delimiter, maximumFrameLength: most), bytes)
        check(FixedLengthFramer(frameLength: most), bytes)
    },
    FuzzTarget(name: "terminal-keys") { input in
        var decoder = KeyDecoder()
        for byte in input { _ = decoder.take(byte) }
    },
    FuzzTarget(name: "program-packets") { input in
        let bytes = Array(input)
        if let packet = BenchmarkPacket(bytes) { require(packet.bytes == bytes, "\(packet) changed") }
        if let control = try? BenchmarkControl(bytes) { require(control.bytes == bytes, "\(control) changed") }
        if let report = BenchmarkReport(bytes) { require(BenchmarkReport(report.bytes) == report, "\(report) changed") }
        check(SampleReceiver<SampleCommand>(), bytes)
        check(SampleReceiver<SampleResponse>(), bytes)
        var hasEnded = false
        for count in 0...min(bytes.count, 12) {
            let match = BrowserRequest.match(Array(bytes.prefix(count)))
            require(match != .partial || !hasEnded, "it was decided before")
            if match != .partial { hasEnded = true }
        }
    },
]

private let formats = ValueFormat.names.flatMap { [$0, $0 + "be"] }.compactMap { ValueFormat($0) }

/// The frames in the pieces of a stream, with nil for an error.
private func frames(_ framer: some Framer, _ bytes: [UInt8], piece: Int) -> [[UInt8]?] {
    var (framer, found) = (framer, [[UInt8]?]())
    for start in stride(from: 0, to: bytes.count, by: piece) {
        guard (try? framer.append(Array(bytes[start..<min(start + piece, bytes.count)]))) != nil else {
            fault("a short piece does not fit")
            return found
        }
        while true {
            do throws(FramingError) {
                guard let frame = try framer.next() else { break }
                found.append(frame)
            } catch {
                found.append(nil)
            }
        }
    }
    return found
}

private func check(_ framer: some Framer, _ bytes: [UInt8]) {
    let whole = frames(framer, bytes, piece: max(1, bytes.count)).compactMap(\.self)
    let pieces = frames(framer, bytes, piece: 5).compactMap(\.self)
    require(whole == pieces, "\(whole) in pieces: \(pieces)")
    guard let encoded = try? whole.flatMap({ try framer.encode($0) }) else { return }
    let again = frames(framer, encoded, piece: max(1, encoded.count))
    require(again == whole, "\(whole) became \(again)")
}

private func check<Message: SampleMessage>(_ receiver: SampleReceiver<Message>, _ bytes: [UInt8]) {
    var receiver = receiver
    guard (try? receiver.append(bytes)) != nil else { return fault("a short piece does not fit") }
    while let element = receiver.next() {
        guard case .message(let message) = element else { continue }
        guard let encoded = try? message.encoded() else { return fault("\(message) is not encoded") }
        let again = try? Message(packet: Array(encoded.dropFirst()))
        require("\(again as Any)" == "\(Message?.some(message) as Any)", "\(message) became \(again as Any)")
    }
}

/// Runs a task that waits for nothing before the call that makes it returns.
private final class InlineExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}

private func check(_ keys: SensorKeys, of text: String) {
    for line in text.split(whereSeparator: \.isNewline) {
        let line = line.filter { !$0.isWhitespace }
        guard !line.isEmpty, !line.hasPrefix("#") else { continue }
        let address = [UInt8](hexadecimal: line.prefix { $0 != "=" })?.reduce(0) { $0 << 8 | UInt64($1) }
        let key = address.flatMap { keys.key(of: BluetoothAddress($0, kind: .public)) }
        require(key != nil, "\(line) has no key")
    }
}

/// The error of `ExampleSupport`, whose own needs the parser of arguments.
struct ProgramError: Error {
    enum Status { case usage, badData }

    init(_ status: Status, _ message: String, remedy: String? = nil) {}
}

/// The reader of `ExampleSupport`: the path is the content of the file, after a slash.
enum SecretArgument {
    static func contents(of argument: String, _ usage: String, remedy: String) async throws -> [UInt8] {
        Array(argument.utf8.dropFirst())
    }
}

/// The function of `ExampleSupport`, whose own file needs a terminal.
func printable(_ text: String) -> String { text }

/// The function of `ExampleSupport`, whose own file needs a terminal.
func quantity(_ count: Int, _ noun: String) -> String { "\(count) \(noun)s" }
