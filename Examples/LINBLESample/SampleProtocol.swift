import BluetoothLE
import LINBLE

// The command protocol of the vendor's sample applications: a packet is its length (one byte, counting the bytes that
// follow it), its type and a payload; numbers are big-endian. A LINBLE does not require this protocol.

/// The first byte of a packet after its length.
public struct SampleMessageType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The raw byte.
    public let rawValue: UInt8

    /// A type, possibly unknown.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Tests whether the other side responds.
    public static let linkTest = SampleMessageType(rawValue: 0x00)
    /// Reads a register.
    public static let readRegister = SampleMessageType(rawValue: 0x01)
    /// Writes a register.
    public static let writeRegister = SampleMessageType(rawValue: 0x02)
    /// Reads the version of the microcontroller's firmware.
    public static let readVersion = SampleMessageType(rawValue: 0x03)
    /// Requests sensor samples for a number of seconds.
    public static let startSampling = SampleMessageType(rawValue: 0x04)
    /// Reads the device's name.
    public static let readName = SampleMessageType(rawValue: 0x05)
    /// Sets the device's name.
    public static let writeName = SampleMessageType(rawValue: 0x06)

    /// The offset from a command's type to the type of its response.
    static let responseBit: UInt8 = 0x40
    /// An event: a sensor sample, or the end of the samples.
    public static let sampleEvent = SampleMessageType(rawValue: 0x84)

    /// The type of the response to a command of this type.
    public var response: SampleMessageType { SampleMessageType(rawValue: rawValue | Self.responseBit) }

    /// The byte in hexadecimal.
    public var description: String { "0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true) }
}

/// The reason why a packet of the sample protocol is invalid.
public enum SampleProtocolError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An unknown packet type.
    case unknownType(SampleMessageType)
    /// A payload of the wrong length for its type.
    case invalidLength(Int, SampleMessageType)
    /// A register other than 0 to 7.
    case invalidRegister(UInt8)
    /// A sampling time other than 1 to 60 seconds.
    case invalidDuration(UInt8)
    /// A sampling state other than 0 and 1.
    case invalidState(UInt8)
    /// A text with other than printable ASCII characters, or one of more than 254.
    case invalidText
    /// A length field of 0.
    case emptyPacket

    /// The error with the invalid value.
    public var description: String {
        switch self {
        case .unknownType(let type): "no message has the type \(type)"
        case .invalidLength(let length, let type): "a payload of \(length) bytes for the type \(type)"
        case .invalidRegister(let register): "register \(register); there are 0 to 7"
        case .invalidDuration(let seconds): "\(seconds) seconds of sampling; 1 to 60 are possible"
        case .invalidState(let state): "sampling state \(state)"
        case .invalidText: "the text is not at most 254 printable ASCII characters"
        case .emptyPacket: "a packet of length 0"
        }
    }
}

/// A message in one direction of the sample protocol.
public protocol SampleMessage: Hashable, Sendable {
    /// Parses a packet without its length byte.
    init(packet: [UInt8]) throws(SampleProtocolError)

    /// The whole packet with its length byte.
    func encoded() throws(SampleProtocolError) -> [UInt8]
}

/// A command from the host to the microcontroller.
public enum SampleCommand: SampleMessage {
    /// A test whether the other side responds.
    case linkTest
    /// The value of a register, 0 to 7.
    case readRegister(UInt8)
    /// Sets a register, 0 to 7.
    case writeRegister(UInt8, value: UInt8)
    /// The version of the microcontroller's firmware.
    case readVersion
    /// Sensor samples for 1 to 60 seconds.
    case startSampling(seconds: UInt8)
    /// The device's name.
    case readName
    /// Sets the device's name: printable ASCII, at most 254 characters.
    case writeName(String)

    /// The type of the packet.
    public var type: SampleMessageType {
        switch self {
        case .linkTest: .linkTest
        case .readRegister: .readRegister
        case .writeRegister: .writeRegister
        case .readVersion: .readVersion
        case .startSampling: .startSampling
        case .readName: .readName
        case .writeName: .writeName
        }
    }

    /// Parses a packet without its length byte.
    public init(packet: [UInt8]) throws(SampleProtocolError) {
        var payload = try SamplePayload(packet)
        switch payload.type {
        case .linkTest: self = .linkTest
        case .readRegister: self = .readRegister(try payload.register())
        case .writeRegister: self = .writeRegister(try payload.register(), value: try payload.byte())
        case .readVersion: self = .readVersion
        case .startSampling: self = .startSampling(seconds: try payload.seconds())
        case .readName: self = .readName
        case .writeName: self = .writeName(try payload.text())
        default: throw .unknownType(payload.type)
        }
        try payload.end()
    }

    /// The whole packet with its length byte.
    public func encoded() throws(SampleProtocolError) -> [UInt8] {
        switch self {
        case .linkTest, .readVersion, .readName: try samplePacket(type, [])
        case .readRegister(let register): try samplePacket(type, [try validRegister(register)])
        case .writeRegister(let register, let value): try samplePacket(type, [try validRegister(register), value])
        case .startSampling(let seconds): try samplePacket(type, [try validSeconds(seconds)])
        case .writeName(let name): try samplePacket(type, try validText(name))
        }
    }
}

/// A response or an event of the microcontroller.
public enum SampleResponse: SampleMessage {
    /// The response to a link test.
    case linkTest
    /// The value of a register.
    case register(UInt8, value: UInt8)
    /// A register has been set.
    case registerWritten
    /// The version of the microcontroller's firmware.
    case version(String)
    /// Samples will follow.
    case samplingStarted
    /// The device's name.
    case name(String)
    /// The name has been set.
    case nameWritten
    /// An event: a sensor sample.
    case sample(Float)
    /// An event: no more samples will follow.
    case samplingEnded

    /// The type of the packet.
    public var type: SampleMessageType {
        switch self {
        case .linkTest: SampleMessageType.linkTest.response
        case .register: SampleMessageType.readRegister.response
        case .registerWritten: SampleMessageType.writeRegister.response
        case .version: SampleMessageType.readVersion.response
        case .samplingStarted: SampleMessageType.startSampling.response
        case .name: SampleMessageType.readName.response
        case .nameWritten: SampleMessageType.writeName.response
        case .sample, .samplingEnded: .sampleEvent
        }
    }

    /// Parses a packet without its length byte.
    public init(packet: [UInt8]) throws(SampleProtocolError) {
        var payload = try SamplePayload(packet)
        switch payload.type {
        case SampleMessageType.linkTest.response: self = .linkTest
        case SampleMessageType.readRegister.response:
            self = .register(try payload.register(), value: try payload.byte())
        case SampleMessageType.writeRegister.response: self = .registerWritten
        case SampleMessageType.readVersion.response: self = .version(try payload.text())
        case SampleMessageType.startSampling.response: self = .samplingStarted
        case SampleMessageType.readName.response: self = .name(try payload.text())
        case SampleMessageType.writeName.response: self = .nameWritten
        case .sampleEvent:
            switch try payload.byte() {
            case 0: self = .samplingEnded
            case 1: self = .sample(try payload.float())
            case let state: throw .invalidState(state)
            }
        default: throw .unknownType(payload.type)
        }
        try payload.end()
    }

    /// The whole packet with its length byte.
    public func encoded() throws(SampleProtocolError) -> [UInt8] {
        switch self {
        case .linkTest, .registerWritten, .samplingStarted, .nameWritten: try samplePacket(type, [])
        case .register(let register, let value): try samplePacket(type, [try validRegister(register), value])
        case .version(let text), .name(let text): try samplePacket(type, try validText(text))
        case .samplingEnded: try samplePacket(type, [0])
        case .sample(let value):
            try samplePacket(
                type, [1] + (0..<4).map { UInt8(truncatingIfNeeded: value.bitPattern >> (24 - 8 * $0)) })
        }
    }
}

// MARK: The rules of the fields, for both directions

private func validRegister(_ register: UInt8) throws(SampleProtocolError) -> UInt8 {
    guard register < 8 else { throw .invalidRegister(register) }
    return register
}

private func validSeconds(_ seconds: UInt8) throws(SampleProtocolError) -> UInt8 {
    guard (1...60).contains(seconds) else { throw .invalidDuration(seconds) }
    return seconds
}

private func validText(_ text: String) throws(SampleProtocolError) -> [UInt8] {
    let bytes = Array(text.utf8)
    guard bytes.count <= 254, bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw .invalidText }
    return bytes
}

private func samplePacket(_ type: SampleMessageType, _ payload: [UInt8]) throws(SampleProtocolError) -> [UInt8] {
    guard let length = UInt8(exactly: payload.count + 1) else { throw .invalidText }
    return [length, type.rawValue] + payload
}

/// A reader of a packet without its length byte.
private struct SamplePayload {
    let type: SampleMessageType
    private let length: Int
    private var rest: ArraySlice<UInt8>

    init(_ packet: [UInt8]) throws(SampleProtocolError) {
        guard let first = packet.first else { throw .emptyPacket }
        type = SampleMessageType(rawValue: first)
        rest = packet.dropFirst()
        length = rest.count
    }

    mutating func byte() throws(SampleProtocolError) -> UInt8 {
        guard let byte = rest.popFirst() else { throw .invalidLength(length, type) }
        return byte
    }

    mutating func register() throws(SampleProtocolError) -> UInt8 { try validRegister(try byte()) }

    mutating func seconds() throws(SampleProtocolError) -> UInt8 { try validSeconds(try byte()) }

    mutating func float() throws(SampleProtocolError) -> Float {
        var pattern: UInt32 = 0
        for _ in 0..<4 { pattern = pattern << 8 | UInt32(try byte()) }
        return Float(bitPattern: pattern)
    }

    mutating func text() throws(SampleProtocolError) -> String {
        let text = String(decoding: rest, as: UTF8.self)
        _ = try validText(text)
        rest = []
        return text
    }

    func end() throws(SampleProtocolError) {
        guard rest.isEmpty else { throw .invalidLength(length, type) }
    }
}

/// A parser for the messages of the sample protocol in a stream of bytes that is split at arbitrary places.
///
/// Append each piece, then call ``next()`` until it returns nil. Invalid packets are returned as such, and
/// parsing continues after them.
public struct SampleReceiver<Message: SampleMessage>: Sendable {
    /// An element of the stream.
    public enum Element: Hashable, Sendable {
        /// A message.
        case message(Message)
        /// An invalid packet without its length byte, and the reason.
        case discarded([UInt8], SampleProtocolError)
    }

    private var framer = LengthPrefixFramer(width: .one, minimumFrameLength: 1, maximumFrameLength: 255)

    /// A parser without input.
    public init() {}

    /// Appends a piece of the stream.
    public mutating func append(_ bytes: [UInt8]) throws(FramingError) {
        try framer.append(bytes)
    }

    /// Removes the next message; nil if none is complete yet.
    public mutating func next() -> Element? {
        let packet: [UInt8]
        do {
            guard let next = try framer.next() else { return nil }
            packet = next
        } catch {
            return .discarded([], .emptyPacket)
        }
        do {
            return .message(try Message(packet: packet))
        } catch {
            return .discarded(packet, error)
        }
    }

    /// Discards an incomplete packet, so that the next byte is a length again.
    ///
    /// Call it when a response is overdue: bytes lost on a UART would otherwise shift every later packet.
    public mutating func reset() {
        framer.reset()
    }
}
