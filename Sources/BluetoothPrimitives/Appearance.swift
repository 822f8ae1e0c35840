/// The appearance of a device (Assigned Numbers §2.6): ten bits of category and six of subcategory.
public struct Appearance: RawRepresentable, Hashable, Sendable {
    /// Category and subcategory as sent.
    public var rawValue: UInt16

    /// The appearance with the value `rawValue`, named or not.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// An appearance from a category and a subcategory; subcategory 0 is the generic one.
    ///
    /// Only the low ten bits of `category` and the low six of `subcategory` count.
    @inlinable
    public init(category: Category, subcategory: UInt8 = 0) {
        rawValue = category.rawValue << 6 | UInt16(subcategory & 0x3F)
    }

    /// The category, the upper ten bits.
    @inlinable public var category: Category { Category(rawValue: rawValue >> 6) }

    /// The subcategory, the lower six bits; 0 is the generic one.
    @inlinable public var subcategory: UInt8 { UInt8(rawValue & 0x3F) }

    /// The category of an appearance.
    public struct Category: RawRepresentable, Hashable, Sendable {
        /// The category's value, from 0 to 1023.
        public var rawValue: UInt16

        /// The category with the low ten bits of `rawValue`.
        @inlinable
        public init(rawValue: UInt16) {
            self.rawValue = rawValue & 0x03FF
        }

        /// The assigned name, or nil for an unassigned category.
        public var name: String? { codeName(rawValue, Self.names) ?? Self.laterNames[rawValue] }

        /// The names of the categories, contiguous from 0.
        private static let names = [
            "Unknown", "Phone", "Computer", "Watch", "Clock", "Display", "Remote Control", "Eye-glasses", "Tag",
            "Keyring", "Media Player", "Barcode Scanner", "Thermometer", "Heart Rate Sensor", "Blood Pressure",
            "Human Interface Device", "Glucose Meter", "Running Walking Sensor", "Cycling", "Control Device",
            "Network Device", "Sensor", "Light Fixtures", "Fan", "HVAC", "Air Conditioning", "Humidifier", "Heating",
            "Access Control", "Motorized Device", "Power Device", "Light Source", "Window Covering", "Audio Sink",
            "Audio Source", "Motorized Vehicle", "Domestic Appliance", "Wearable Audio Device", "Aircraft",
            "AV Equipment", "Display Equipment", "Hearing Aid", "Gaming", "Signage",
        ]

        private static let laterNames: [UInt16: String] = [
            0x31: "Pulse Oximeter", 0x32: "Weight Scale", 0x33: "Personal Mobility Device",
            0x34: "Continuous Glucose Monitor", 0x35: "Insulin Pump", 0x36: "Medication Delivery",
            0x37: "Spirometer", 0x51: "Outdoor Sports Activity",
        ]
    }
}

extension Appearance.Category: CustomStringConvertible {
    /// The name, or the value of an unassigned category, such as `category 0x3FF`.
    public var description: String { name ?? "category 0x" + hexadecimal(rawValue, digits: 3) }
}

extension Appearance {
    /// An unspecified appearance.
    public static let unknown = Appearance(rawValue: 0x0000)
    /// A phone.
    public static let phone = Appearance(rawValue: 0x0040)
    /// A generic computer.
    public static let computer = Appearance(rawValue: 0x0080)
    /// A watch.
    public static let watch = Appearance(rawValue: 0x00C0)
    /// A clock.
    public static let clock = Appearance(rawValue: 0x0100)
    /// A display.
    public static let display = Appearance(rawValue: 0x0140)
    /// A remote control.
    public static let remoteControl = Appearance(rawValue: 0x0180)
    /// A tag.
    public static let tag = Appearance(rawValue: 0x0200)
    /// A thermometer.
    public static let thermometer = Appearance(rawValue: 0x0300)
    /// A heart rate sensor.
    public static let heartRateSensor = Appearance(rawValue: 0x0340)
    /// A blood pressure meter.
    public static let bloodPressure = Appearance(rawValue: 0x0380)
    /// A generic human interface device.
    public static let humanInterfaceDevice = Appearance(rawValue: 0x03C0)
    /// A keyboard.
    public static let keyboard = Appearance(rawValue: 0x03C1)
    /// A mouse.
    public static let mouse = Appearance(rawValue: 0x03C2)
    /// A gamepad.
    public static let gamepad = Appearance(rawValue: 0x03C4)
    /// A glucose meter.
    public static let glucoseMeter = Appearance(rawValue: 0x0400)
    /// A network device.
    public static let networkDevice = Appearance(rawValue: 0x0500)
    /// A generic sensor.
    public static let sensor = Appearance(rawValue: 0x0540)
    /// A hearing aid.
    public static let hearingAid = Appearance(rawValue: 0x0A40)
    /// A pulse oximeter.
    public static let pulseOximeter = Appearance(rawValue: 0x0C40)
    /// A weight scale.
    public static let weightScale = Appearance(rawValue: 0x0C80)

    /// The subcategory's name, or nil when this package has none.
    public var subcategoryName: String? { Self.subcategoryNames[rawValue] }

    private static let subcategoryNames: [UInt16: String] = [
        0x0081: "Desktop Workstation", 0x0082: "Server-class Computer", 0x0083: "Laptop", 0x0084: "Handheld PC/PDA",
        0x0085: "Palm-size PC/PDA", 0x0086: "Wearable Computer", 0x0087: "Tablet", 0x0088: "Docking Station",
        0x0089: "All in One", 0x008A: "Blade Server", 0x008B: "Convertible", 0x008C: "Detachable",
        0x008D: "IoT Gateway", 0x008E: "Mini PC", 0x008F: "Stick PC",
        0x00C1: "Sports Watch", 0x00C2: "Smartwatch",
        0x0301: "Ear Thermometer",
        0x0341: "Heart Rate Belt",
        0x0381: "Arm Blood Pressure", 0x0382: "Wrist Blood Pressure",
        0x03C1: "Keyboard", 0x03C2: "Mouse", 0x03C3: "Joystick", 0x03C4: "Gamepad", 0x03C5: "Digitizer Tablet",
        0x03C6: "Card Reader", 0x03C7: "Digital Pen", 0x03C8: "Barcode Scanner", 0x03C9: "Touchpad",
        0x03CA: "Presentation Remote",
        0x0441: "In-Shoe Running Walking Sensor", 0x0442: "On-Shoe Running Walking Sensor",
        0x0443: "On-Hip Running Walking Sensor",
        0x0481: "Cycling Computer", 0x0482: "Speed Sensor", 0x0483: "Cadence Sensor", 0x0484: "Power Sensor",
        0x0485: "Speed and Cadence Sensor",
        0x0501: "Access Point", 0x0502: "Mesh Device", 0x0503: "Mesh Network Proxy",
        0x0541: "Motion Sensor", 0x0542: "Air Quality Sensor", 0x0543: "Temperature Sensor",
        0x0544: "Humidity Sensor", 0x0545: "Leak Sensor", 0x0546: "Smoke Sensor", 0x0547: "Occupancy Sensor",
        0x0548: "Contact Sensor", 0x0549: "Carbon Monoxide Sensor", 0x054A: "Carbon Dioxide Sensor",
        0x054B: "Ambient Light Sensor", 0x054C: "Energy Sensor",
        0x0941: "Earbud", 0x0942: "Headset", 0x0943: "Headphones", 0x0944: "Neck Band",
        0x0A41: "In-ear Hearing Aid", 0x0A42: "Behind-ear Hearing Aid", 0x0A43: "Cochlear Implant",
        0x0C41: "Fingertip Pulse Oximeter", 0x0C42: "Wrist Worn Pulse Oximeter",
        0x1441: "Location Display", 0x1442: "Location and Navigation Display", 0x1443: "Location Pod",
        0x1444: "Location and Navigation Pod",
    ]
}

extension Appearance: CustomStringConvertible {
    /// The subcategory's name, else the category's with the value of an unnamed subcategory.
    public var description: String {
        if let subcategoryName { return subcategoryName }
        return subcategory == 0 ? category.description : "\(category) (0x\(hexadecimal(rawValue, digits: 4)))"
    }
}
