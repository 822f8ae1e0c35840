/// The state of a keyboard's keys: the modifiers and up to six other keys that are down (Device Class Definition for HID 1.11,
/// Appendix B.1).
public struct KeyboardReport: Hashable, Sendable {
    /// The modifiers that are down.
    public var modifiers: KeyboardModifiers
    /// The other keys that are down, at most six, by their usages of the page Keyboard/Keypad (HID Usage Tables §10).
    public var keys: [UInt8]

    /// No key.
    public static let released = KeyboardReport()

    /// A report of these keys; those after the sixth are left out.
    public init(modifiers: KeyboardModifiers = [], keys: [UInt8] = []) {
        self.modifiers = modifiers
        self.keys = Array(keys.prefix(6))
    }

    /// The report of eight bytes, without a report's number in front.
    /// - Throws: ``MalformedValue`` for fewer bytes.
    public init(_ bytes: [UInt8]) throws(MalformedValue) {
        guard bytes.count >= 8 else { throw MalformedValue("keys", "8 bytes needed, \(bytes.count) available") }
        modifiers = KeyboardModifiers(rawValue: bytes[0])
        keys = bytes[2..<8].filter { $0 != 0 }
    }

    /// The report's eight bytes; keys after the sixth are left out.
    public var bytes: [UInt8] {
        let down = keys.prefix(6)
        return [modifiers.rawValue, 0] + down + Array(repeating: 0, count: 6 - down.count)
    }
}

/// The modifier keys of a keyboard, in the order of their usages, from 0xE0.
public struct KeyboardModifiers: OptionSet, Hashable, Sendable {
    /// The first byte of a report.
    public let rawValue: UInt8

    /// The modifiers of a report's first byte.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The left Control key.
    public static let leftControl = KeyboardModifiers(rawValue: 1 << 0)
    /// The left Shift key.
    public static let leftShift = KeyboardModifiers(rawValue: 1 << 1)
    /// The left Alt key.
    public static let leftAlt = KeyboardModifiers(rawValue: 1 << 2)
    /// The left GUI key (Windows, Command).
    public static let leftGUI = KeyboardModifiers(rawValue: 1 << 3)
    /// The right Control key.
    public static let rightControl = KeyboardModifiers(rawValue: 1 << 4)
    /// The right Shift key.
    public static let rightShift = KeyboardModifiers(rawValue: 1 << 5)
    /// The right Alt key (Alt Gr).
    public static let rightAlt = KeyboardModifiers(rawValue: 1 << 6)
    /// The right GUI key.
    public static let rightGUI = KeyboardModifiers(rawValue: 1 << 7)
}

/// The lights of a keyboard that its host switches (HID Usage Tables §11).
public struct KeyboardLights: OptionSet, Hashable, Sendable {
    /// The byte of the output report.
    public let rawValue: UInt8

    /// The lights of an output report.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Num Lock.
    public static let numLock = KeyboardLights(rawValue: 1 << 0)
    /// Caps Lock.
    public static let capsLock = KeyboardLights(rawValue: 1 << 1)
    /// Scroll Lock.
    public static let scrollLock = KeyboardLights(rawValue: 1 << 2)
    /// Compose.
    public static let compose = KeyboardLights(rawValue: 1 << 3)
    /// Kana.
    public static let kana = KeyboardLights(rawValue: 1 << 4)
}
