import BluetoothPrimitives

/// A measured number, a state, an event, a text or bytes of a sensor: exactly one of ``number``, ``state``, ``event``,
/// ``text`` and ``bytes`` is not nil.
public struct SensorValue: Hashable, Sendable {
    private enum Content: Hashable, Sendable {
        case number(Double)
        case state(Bool)
        case event(SensorEvent)
        case text(String)
        case bytes([UInt8])
    }

    /// What is measured.
    public let quantity: SensorQuantity
    /// The symbol of the unit of ``number``, such as `°C`; empty without a unit.
    public let unit: String
    private let content: Content

    private init(_ quantity: SensorQuantity, _ content: Content, unit: String = "") {
        self.quantity = quantity
        self.unit = unit
        self.content = content
    }

    /// A number.
    public init(_ quantity: SensorQuantity, number: Double, unit: String = "") {
        self.init(quantity, .number(number), unit: unit)
    }

    /// A state.
    public init(_ quantity: SensorQuantity, state: Bool) {
        self.init(quantity, .state(state))
    }

    /// An event.
    public init(_ quantity: SensorQuantity, event: SensorEvent) {
        self.init(quantity, .event(event))
    }

    /// A text.
    public init(_ quantity: SensorQuantity, text: String) {
        self.init(quantity, .text(text))
    }

    /// Bytes.
    public init(_ quantity: SensorQuantity, bytes: [UInt8]) {
        self.init(quantity, .bytes(bytes))
    }

    /// The measured number, in ``unit``.
    public var number: Double? { if case .number(let number) = content { number } else { nil } }
    /// The state, true if what ``quantity`` names is present.
    public var state: Bool? { if case .state(let state) = content { state } else { nil } }
    /// The event.
    public var event: SensorEvent? { if case .event(let event) = content { event } else { nil } }
    /// The text.
    public var text: String? { if case .text(let text) = content { text } else { nil } }
    /// The bytes, in a format of the sensor's own.
    public var bytes: [UInt8]? { if case .bytes(let bytes) = content { bytes } else { nil } }
}

extension SensorValue: CustomStringConvertible {
    /// The quantity and the value, such as `temperature 21.5 °C`, `no motion` or `button doublePress`.
    public var description: String {
        switch content {
        case .number(let number):
            let whole = Int(exactly: number).map(String.init) ?? "\(number)"
            return "\(quantity) \(whole)\(unit.isEmpty ? "" : " " + unit)"
        case .state(let state): return state ? "\(quantity)" : "no \(quantity)"
        case .event(let event): return "\(quantity) \(event)"
        case .text(let text): return "\(quantity) \(text)"
        case .bytes(let bytes): return "\(quantity) \(bytes.map { hexadecimal($0, digits: 2) }.joined())"
        }
    }
}

/// An event at a sensor, such as a pressed button.
public struct SensorEvent: Hashable, Sendable, CustomStringConvertible {
    /// The kind of the event.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind, such as `doublePress`.
        public let rawValue: String

        /// The kind with this name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name.
        public var description: String { rawValue }

        /// Nothing happened at this button, and something at one after it.
        public static let idle = Kind(rawValue: "idle")
        /// A short press.
        public static let press = Kind(rawValue: "press")
        /// Two short presses.
        public static let doublePress = Kind(rawValue: "doublePress")
        /// Three short presses.
        public static let triplePress = Kind(rawValue: "triplePress")
        /// A long press.
        public static let longPress = Kind(rawValue: "longPress")
        /// Two long presses.
        public static let longDoublePress = Kind(rawValue: "longDoublePress")
        /// Three long presses.
        public static let longTriplePress = Kind(rawValue: "longTriplePress")
        /// A press that lasts.
        public static let holdPress = Kind(rawValue: "holdPress")
        /// The end of a press that lasted.
        public static let holdRelease = Kind(rawValue: "holdRelease")
        /// A turn to the left, by as many steps as the first argument says.
        public static let rotateLeft = Kind(rawValue: "rotateLeft")
        /// A turn to the right, by as many steps as the first argument says.
        public static let rotateRight = Kind(rawValue: "rotateRight")
        /// The command to switch off.
        public static let off = Kind(rawValue: "off")
        /// The command to switch on.
        public static let on = Kind(rawValue: "on")
        /// The command to switch over.
        public static let toggle = Kind(rawValue: "toggle")
        /// The command to increase.
        public static let stepUp = Kind(rawValue: "stepUp")
        /// The command to decrease.
        public static let stepDown = Kind(rawValue: "stepDown")
    }

    /// The kind of the event.
    public let kind: Kind
    /// The bytes that follow: the steps of a rotation, the arguments of a command, the number of a MiBeacon's button.
    public let arguments: [UInt8]

    /// An event with these arguments.
    public init(_ kind: Kind, _ arguments: [UInt8] = []) {
        self.kind = kind
        self.arguments = arguments
    }

    /// The kind, then the arguments.
    public var description: String { ([kind.rawValue] + arguments.map { "\($0)" }).joined(separator: " ") }
}
