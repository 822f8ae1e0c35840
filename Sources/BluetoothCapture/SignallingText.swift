import BluetoothPrimitives

/// Commands of the LE signaling channel as text (Core Vol 3 Part A §4).
package enum SignallingText {
    /// The channels that a command opens: the identifiers of the sender and the PSM, or of the answering receiver.
    package enum Channels: Hashable, Sendable {
        /// Requested channels with the sender's identifiers.
        case requested(psm: UInt16, identifiers: [UInt16], id: UInt8)
        /// Accepted channels with the sender's identifiers; the request with this identifier names the PSM.
        case accepted(identifiers: [UInt16], id: UInt8)
        /// A closed channel.
        case closed([UInt16])
    }

    private static let connectionResults = [
        "accepted", "", "PSM not supported", "", "no resources", "insufficient authentication",
        "insufficient authorization", "encryption key size too short", "insufficient encryption",
        "invalid source identifier", "source identifier in use", "unacceptable parameters", "invalid parameters",
    ]

    /// The commands in a frame of the channel: each one's text, the channels it concerns, and why it is malformed.
    package static func describe(_ frame: [UInt8]) -> [(text: String, channels: Channels?, problem: String?)] {
        var rest = frame[...]
        var result: [(String, Channels?, String?)] = []
        while !rest.isEmpty {
            guard rest.count >= 4 else {
                result.append(("", nil, "a command of \(rest.count) bytes without a complete header"))
                break
            }
            let header = Array(rest.prefix(4))
            let length = Int(header[2]) | Int(header[3]) << 8
            let parameters = Array(rest.dropFirst(4).prefix(length))
            if parameters.count < length {
                result.append((name(header[0]), nil, "\(parameters.count) of \(length) bytes of parameters"))
                break
            }
            rest = rest.dropFirst(4 + length)
            let (text, channels, isComplete) = describe(header[0], header[1], words(parameters), parameters)
            result.append((text, channels, isComplete ? nil : "too few bytes of parameters: \(length)"))
        }
        return result
    }

    private static func words(_ bytes: [UInt8]) -> [UInt16] {
        stride(from: 0, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8 }
    }

    /// The name of each command, and the number of words of its parameters that it needs.
    private static let commands: [UInt8: (name: String, words: Int)] = [
        0x01: ("Command Reject", 1), 0x06: ("Disconnection Request", 2), 0x07: ("Disconnection Response", 2),
        0x12: ("Connection Parameter Update Request", 4), 0x13: ("Connection Parameter Update Response", 1),
        0x14: ("LE Credit Based Connection Request", 5), 0x15: ("LE Credit Based Connection Response", 5),
        0x16: ("Flow Control Credit", 2), 0x17: ("Credit Based Connection Request", 4),
        0x18: ("Credit Based Connection Response", 4), 0x19: ("Credit Based Reconfigure Request", 0),
        0x1A: ("Credit Based Reconfigure Response", 0),
    ]

    private static func name(_ code: UInt8) -> String {
        commands[code]?.name ?? "Unknown Command 0x\(hexadecimal(code, digits: 2))"
    }

    private static func describe(
        _ code: UInt8, _ id: UInt8, _ words: [UInt16], _ bytes: [UInt8]
    ) -> (text: String, channels: Channels?, isComplete: Bool) {
        guard words.count >= commands[code]?.words ?? 0 else { return (name(code), nil, false) }
        let text: String
        var channels: Channels?
        switch code {
        case 0x01:
            let reasons = ["command not understood", "signaling MTU exceeded", "invalid channel identifier"]
            text = choice(words[0], reasons)
        case 0x06, 0x07:
            text = "channels \(hexadecimal(words[0])) and \(hexadecimal(words[1]))"
            if code == 0x07 { channels = .closed([words[0], words[1]]) }
        case 0x12:
            text =
                "interval \(milliseconds(words[0])) to \(milliseconds(words[1])) ms, latency \(words[2]), "
                + "supervision timeout \(Int(words[3]) * 10) ms"
        case 0x13: text = words[0] == 0 ? "accepted" : "rejected"
        case 0x14:
            text =
                "PSM \(hexadecimal(words[0])), channel \(hexadecimal(words[1])), MTU \(words[2]), MPS \(words[3]), "
                + "credits \(words[4])"
            channels = .requested(psm: words[0], identifiers: [words[1]], id: id)
        case 0x15:
            let result = choice(words[4], connectionResults)
            guard words[4] == 0 else {
                text = result
                break
            }
            text =
                "\(result), channel \(hexadecimal(words[0])), MTU \(words[1]), MPS \(words[2]), credits \(words[3])"
            channels = .accepted(identifiers: [words[0]], id: id)
        case 0x16: text = "channel \(hexadecimal(words[0])), credits \(words[1])"
        case 0x17:
            let identifiers = Array(words.dropFirst(4))
            text =
                "PSM \(hexadecimal(words[0])), channels \(list(identifiers)), MTU \(words[1]), MPS \(words[2]), credits \(words[3])"
            channels = .requested(psm: words[0], identifiers: identifiers, id: id)
        case 0x18:
            let identifiers = Array(words.dropFirst(4)).filter { $0 != 0 }
            text =
                "\(choice(words[3], connectionResults)), channels \(list(identifiers)), MTU \(words[0]), "
                + "MPS \(words[1]), credits \(words[2])"
            channels = .accepted(identifiers: identifiers, id: id)
        default: text = bytes.hexadecimal
        }
        return ("\(name(code)): \(text)", channels, true)
    }

    private static func choice(_ number: UInt16, _ texts: [String]) -> String {
        codeName(number, texts) ?? "result \(hexadecimal(number))"
    }

    private static func list(_ numbers: [UInt16]) -> String { numbers.map { hexadecimal($0) }.joined(separator: " ") }
}

/// A number of units of 1.25 ms in milliseconds, such as `7.5`.
func milliseconds(_ units: UInt16) -> String {
    let milliseconds = Double(units) * 1.25
    return units % 4 == 0 ? "\(Int(milliseconds))" : "\(milliseconds)"
}
