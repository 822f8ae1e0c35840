/// A key, as a terminal sends it.
enum Key: Hashable, Sendable {
    /// A character, or a part of one such as a combining mark.
    case text(Unicode.Scalar)
    /// Ctrl and a letter, in lowercase.
    case control(Character)
    /// Alt and a letter, in lowercase.
    case alt(Character)
    case enter, tab, backspace, delete
    case left, right, up, down, home, end, wordLeft, wordRight
    /// Pasted text.
    case paste(String)
}

/// The keys in the bytes of a terminal (ECMA-48 control sequences, bracketed paste), which may be split anywhere.
///
/// Unknown sequences and bytes that are not UTF-8 are no keys.
struct KeyDecoder: Hashable, Sendable {
    private enum State: Hashable {
        case plain
        /// After ESC.
        case escape
        /// Within a control sequence, with its parameters so far.
        case sequence([UInt8])
        /// After ESC O: the next byte is the key.
        case singleShift
        /// Within a character, with its bytes so far and the number of those still to come.
        case character([UInt8], missing: Int)
        case paste
    }

    /// The maximum length of pasted text in bytes; the rest is dropped.
    static let mostPastedBytes = 65_536
    private static let mostParameterBytes = 32
    private static let endOfPaste = Array("\u{1B}[201~".utf8)

    private var state = State.plain
    /// The pasted text so far.
    private var pasted: [UInt8] = []

    /// The key that a byte completes.
    mutating func take(_ byte: UInt8) -> Key? {
        switch state {
        case .plain: return plain(byte)
        case .escape: return afterEscape(byte)
        case .sequence(let parameters): return sequence(parameters, byte)
        case .singleShift:
            state = .plain
            return Self.cursorKey(byte, isWord: false)
        case .character(let bytes, let missing): return character(bytes, missing, byte)
        case .paste: return paste(byte)
        }
    }

    private mutating func plain(_ byte: UInt8) -> Key? {
        state = .plain
        switch byte {
        case 0x1B: state = .escape
        case 0x0D, 0x0A: return .enter
        case 0x09: return .tab
        case 0x08, 0x7F: return .backspace
        case 0x01...0x1A: return .control(Character(Unicode.Scalar(byte + 0x60)))
        case 0x20..<0x7F: return .text(Unicode.Scalar(byte))
        case 0xC2...0xDF: state = .character([byte], missing: 1)
        case 0xE0...0xEF: state = .character([byte], missing: 2)
        case 0xF0...0xF4: state = .character([byte], missing: 3)
        default: break
        }
        return nil
    }

    private mutating func afterEscape(_ byte: UInt8) -> Key? {
        state = .plain
        switch byte {
        case 0x1B: state = .escape
        case UInt8(ascii: "["): state = .sequence([])
        case UInt8(ascii: "O"): state = .singleShift
        case 0x08, 0x7F: return .alt("\u{7F}")
        case 0x21..<0x7F: return .alt(Character(Unicode.Scalar(byte).properties.lowercaseMapping))
        default: break
        }
        return nil
    }

    private mutating func sequence(_ parameters: [UInt8], _ byte: UInt8) -> Key? {
        guard (0x40...0x7E).contains(byte) else {
            switch byte {
            case 0x20..<0x40 where parameters.count < Self.mostParameterBytes: state = .sequence(parameters + [byte])
            // Too long to be one of ours, but a sequence still.
            case 0x20..<0x40: break
            case 0x1B: state = .escape
            default: state = .plain
            }
            return nil
        }
        state = .plain
        let text = String(decoding: parameters, as: UTF8.self)
        guard byte == UInt8(ascii: "~") else {
            // xterm's modifiers: 3 is Alt, 5 is Ctrl.
            return Self.cursorKey(byte, isWord: text.hasSuffix(";3") || text.hasSuffix(";5"))
        }
        switch text {
        case "1", "7": return .home
        case "4", "8": return .end
        case "3": return .delete
        case "200": state = .paste
        default: break
        }
        return nil
    }

    private static func cursorKey(_ byte: UInt8, isWord: Bool) -> Key? {
        switch byte {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): isWord ? .wordRight : .right
        case UInt8(ascii: "D"): isWord ? .wordLeft : .left
        case UInt8(ascii: "F"): .end
        case UInt8(ascii: "H"): .home
        default: nil
        }
    }

    private mutating func character(_ bytes: [UInt8], _ missing: Int, _ byte: UInt8) -> Key? {
        // A byte that does not continue the character begins anew.
        guard (0x80...0xBF).contains(byte) else { return plain(byte) }
        guard missing == 1 else {
            state = .character(bytes + [byte], missing: missing - 1)
            return nil
        }
        state = .plain
        guard let text = String(validating: bytes + [byte], as: UTF8.self), let scalar = text.unicodeScalars.first,
            scalar.properties.generalCategory != .control
        else { return nil }
        return .text(scalar)
    }

    private mutating func paste(_ byte: UInt8) -> Key? {
        // Terminals remove control characters from what they paste: this is a key, and the end of the paste was lost.
        if byte == 0x03 {
            (state, pasted) = (.plain, [])
            return .control("c")
        }
        pasted.append(byte)
        if pasted.suffix(Self.endOfPaste.count) == Self.endOfPaste[...] {
            defer { (state, pasted) = (.plain, []) }
            let text = pasted.dropLast(Self.endOfPaste.count).prefix(Self.mostPastedBytes)
            return .paste(String(decoding: text, as: UTF8.self))
        }
        // Of what is too long, only the end matters.
        if pasted.count > Self.mostPastedBytes + Self.endOfPaste.count { pasted.remove(at: Self.mostPastedBytes) }
        return nil
    }
}
