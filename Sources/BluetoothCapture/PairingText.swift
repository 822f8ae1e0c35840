import BluetoothPrimitives

/// PDUs of the Security Manager Protocol as text, without keys, confirm values and random numbers
/// (Core Vol 3 Part H §3.5, §3.6).
package enum PairingText {
    /// The name of each PDU, and its length.
    private static let pdus: [UInt8: (name: String, length: Int)] = [
        0x01: ("Pairing Request", 7), 0x02: ("Pairing Response", 7), 0x03: ("Pairing Confirm", 17),
        0x04: ("Pairing Random", 17), 0x05: ("Pairing Failed", 2), 0x06: ("Encryption Information", 17),
        0x07: ("Central Identification", 11), 0x08: ("Identity Information", 17),
        0x09: ("Identity Address Information", 8), 0x0A: ("Signing Information", 17), 0x0B: ("Security Request", 2),
        0x0C: ("Pairing Public Key", 65), 0x0D: ("Pairing DHKey Check", 17),
        0x0E: ("Pairing Keypress Notification", 2),
    ]
    private static let reasons = [
        "", "passkey entry failed", "OOB not available", "authentication requirements", "confirm value failed",
        "pairing not supported", "encryption key size", "command not supported", "unspecified reason",
        "repeated attempts", "invalid parameters", "DHKey check failed", "numeric comparison failed",
        "BR/EDR pairing in progress", "cross-transport key derivation not allowed", "key rejected", "busy",
    ]
    private static let capabilities = [
        "display only", "display and yes/no", "keyboard only", "no input, no output", "keyboard and display",
    ]

    /// The PDU's name and parameters, and the reason if it is malformed.
    ///
    /// - Parameter missing: The number of bytes at its end that the capture lacks.
    package static func describe(_ pdu: [UInt8], missing: Int = 0) -> (text: String, problem: String?) {
        guard let code = pdu.first else { return ("", "an empty PDU") }
        guard let (name, length) = pdus[code] else {
            return ("Unknown Code 0x\(hexadecimal(code, digits: 2))", nil)
        }
        guard pdu.count + missing == length else {
            return (name, "\(pdu.count + missing) bytes instead of \(length)")
        }
        guard pdu.count == length else { return (name, nil) }
        switch code {
        case 0x01, 0x02: return ("\(name): \(features(pdu))", nil)
        case 0x05: return ("\(name): \(choice(pdu[1], reasons, "reason"))", nil)
        case 0x09:
            var reader = ByteReader(pdu.span.bytes)
            guard (try? reader.skip(1)) != nil, let type = try? reader.readUInt8(),
                let address = try? reader.readAddress(type & 1 == 0 ? .public : .random)
            else { return (name, nil) }
            return ("\(name): \(address.digits) (\(address.kind))", nil)
        case 0x0B: return ("\(name): \(requirements(pdu[1]))", nil)
        default: return (name, nil)
        }
    }

    private static func choice(_ byte: UInt8, _ texts: [String], _ word: String) -> String {
        codeName(byte, texts) ?? "\(word) 0x\(hexadecimal(byte, digits: 2))"
    }

    private static func features(_ pdu: [UInt8]) -> String {
        let outOfBand = pdu[2] == 0 ? "" : ", out-of-band data"
        return "\(choice(pdu[1], capabilities, "IO capability"))\(outOfBand), \(requirements(pdu[3])), "
            + "key size \(pdu[4]), keys of initiator \(keys(pdu[5])), of responder \(keys(pdu[6]))"
    }

    private static func requirements(_ flags: UInt8) -> String {
        var texts = [flags & 3 == 1 ? "bonding" : "no bonding"]
        for (bit, text) in [(2, "MITM"), (3, "Secure Connections"), (4, "keypress"), (5, "CT2")] as [(Int, String)]
        where flags & 1 << bit != 0 {
            texts.append(text)
        }
        return texts.joined(separator: ", ")
    }

    private static func keys(_ flags: UInt8) -> String {
        let names = ["encryption", "identity", "signing", "link"]
        let set = names.indices.filter { flags & 1 << $0 != 0 }.map { names[$0] }
        return set.isEmpty ? "none" : set.joined(separator: "+")
    }
}
