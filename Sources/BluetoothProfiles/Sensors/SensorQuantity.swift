/// What a sensor measures or detects. An open set: later formats have quantities of their own.
public struct SensorQuantity: RawRepresentable, Hashable, Sendable {
    /// The name of the quantity, such as `carbonDioxide`.
    public let rawValue: String

    /// The quantity with this name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension SensorQuantity: CustomStringConvertible {
    /// The name in words, such as `carbon dioxide`.
    public var description: String {
        var (text, wasUppercase) = ("", false)
        for letter in rawValue {
            if letter.isUppercase, !wasUppercase { text += " " }
            text += letter.lowercased()
            wasUppercase = letter.isUppercase
        }
        return text
    }
}

/// Numbers, texts and bytes. The unit of a value is ``SensorValue/unit``.
extension SensorQuantity {
    /// The acceleration along the sensor's x axis, 1 g at rest if it points up.
    public static let accelerationX = SensorQuantity(rawValue: "accelerationX")
    /// The acceleration along the sensor's y axis.
    public static let accelerationY = SensorQuantity(rawValue: "accelerationY")
    /// The acceleration along the sensor's z axis.
    public static let accelerationZ = SensorQuantity(rawValue: "accelerationZ")
    /// The acceleration of the sensor.
    public static let acceleration = SensorQuantity(rawValue: "acceleration")
    /// The angular velocity of the sensor.
    public static let angularVelocity = SensorQuantity(rawValue: "angularVelocity")
    /// The charge of the battery.
    public static let battery = SensorQuantity(rawValue: "battery")
    /// The concentration of carbon dioxide.
    public static let carbonDioxide = SensorQuantity(rawValue: "carbonDioxide")
    /// The number of a channel.
    public static let channel = SensorQuantity(rawValue: "channel")
    /// The conductivity, such as of soil.
    public static let conductivity = SensorQuantity(rawValue: "conductivity")
    /// The rest of what the device uses up.
    public static let consumable = SensorQuantity(rawValue: "consumable")
    /// A number of things or of events.
    public static let count = SensorQuantity(rawValue: "count")
    /// The electric current.
    public static let current = SensorQuantity(rawValue: "current")
    /// The number that the maker has given to the kind of device.
    public static let deviceType = SensorQuantity(rawValue: "deviceType")
    /// The dew point.
    public static let dewPoint = SensorQuantity(rawValue: "dewPoint")
    /// A direction, such as of wind.
    public static let direction = SensorQuantity(rawValue: "direction")
    /// A distance.
    public static let distance = SensorQuantity(rawValue: "distance")
    /// A duration.
    public static let duration = SensorQuantity(rawValue: "duration")
    /// The electric energy.
    public static let energy = SensorQuantity(rawValue: "energy")
    /// The version of the firmware, a text.
    public static let firmwareVersion = SensorQuantity(rawValue: "firmwareVersion")
    /// The concentration of formaldehyde.
    public static let formaldehyde = SensorQuantity(rawValue: "formaldehyde")
    /// The volume of gas.
    public static let gas = SensorQuantity(rawValue: "gas")
    /// The relative humidity of air.
    public static let humidity = SensorQuantity(rawValue: "humidity")
    /// The illuminance.
    public static let illuminance = SensorQuantity(rawValue: "illuminance")
    /// The level of the ambient light as a number of the sensor's own scale.
    public static let lightLevel = SensorQuantity(rawValue: "lightLevel")
    /// The mass.
    public static let mass = SensorQuantity(rawValue: "mass")
    /// The moisture, such as of soil.
    public static let moisture = SensorQuantity(rawValue: "moisture")
    /// The number of movements detected.
    public static let movementCount = SensorQuantity(rawValue: "movementCount")
    /// The index of nitrogen oxides, 1 to 500.
    public static let noxIndex = SensorQuantity(rawValue: "noxIndex")
    /// The number of the packet: the same in repetitions of one message.
    public static let packetID = SensorQuantity(rawValue: "packetID")
    /// The concentration of particles up to 10 µm.
    public static let pm10 = SensorQuantity(rawValue: "pm10")
    /// The concentration of particles up to 2.5 µm.
    public static let pm25 = SensorQuantity(rawValue: "pm25")
    /// The electric power.
    public static let power = SensorQuantity(rawValue: "power")
    /// The precipitation.
    public static let precipitation = SensorQuantity(rawValue: "precipitation")
    /// The pressure of air.
    public static let pressure = SensorQuantity(rawValue: "pressure")
    /// Bytes in a format of the sensor's own.
    public static let raw = SensorQuantity(rawValue: "raw")
    /// A number of revolutions per time.
    public static let rotationalSpeed = SensorQuantity(rawValue: "rotationalSpeed")
    /// An angle.
    public static let rotation = SensorQuantity(rawValue: "rotation")
    /// The number of the measurement.
    public static let sequenceNumber = SensorQuantity(rawValue: "sequenceNumber")
    /// A number that changes with the sensor's settings.
    public static let settingsRevision = SensorQuantity(rawValue: "settingsRevision")
    /// A speed.
    public static let speed = SensorQuantity(rawValue: "speed")
    /// The temperature.
    public static let temperature = SensorQuantity(rawValue: "temperature")
    /// A text.
    public static let text = SensorQuantity(rawValue: "text")
    /// A time in seconds since 1970.
    public static let timestamp = SensorQuantity(rawValue: "timestamp")
    /// The transmit power.
    public static let transmitPower = SensorQuantity(rawValue: "transmitPower")
    /// The UV index.
    public static let uvIndex = SensorQuantity(rawValue: "uvIndex")
    /// The index of volatile organic compounds, 1 to 500.
    public static let vocIndex = SensorQuantity(rawValue: "vocIndex")
    /// The concentration of volatile organic compounds.
    public static let volatileOrganicCompounds = SensorQuantity(rawValue: "volatileOrganicCompounds")
    /// The electric voltage, such as of the battery.
    public static let voltage = SensorQuantity(rawValue: "voltage")
    /// A volume per time.
    public static let volumeFlowRate = SensorQuantity(rawValue: "volumeFlowRate")
    /// A stored volume.
    public static let volumeStorage = SensorQuantity(rawValue: "volumeStorage")
    /// A volume.
    public static let volume = SensorQuantity(rawValue: "volume")
    /// The volume of water.
    public static let water = SensorQuantity(rawValue: "water")
}

/// States: true if the sentence holds.
extension SensorQuantity {
    /// The battery is being charged.
    public static let batteryCharging = SensorQuantity(rawValue: "batteryCharging")
    /// The sensor is calibrating itself, and its values are not exact yet.
    public static let calibrating = SensorQuantity(rawValue: "calibrating")
    /// Carbon monoxide is detected.
    public static let carbonMonoxide = SensorQuantity(rawValue: "carbonMonoxide")
    /// It is too cold.
    public static let cold = SensorQuantity(rawValue: "cold")
    /// There is a connection.
    public static let connectivity = SensorQuantity(rawValue: "connectivity")
    /// The door is open.
    public static let door = SensorQuantity(rawValue: "door")
    /// The garage door is open.
    public static let garageDoor = SensorQuantity(rawValue: "garageDoor")
    /// Gas is detected.
    public static let gasDetected = SensorQuantity(rawValue: "gasDetected")
    /// A state without a meaning of its own.
    public static let generic = SensorQuantity(rawValue: "generic")
    /// It is too hot.
    public static let heat = SensorQuantity(rawValue: "heat")
    /// Light is detected.
    public static let light = SensorQuantity(rawValue: "light")
    /// The battery is low.
    public static let lowBattery = SensorQuantity(rawValue: "lowBattery")
    /// Motion is detected.
    public static let motion = SensorQuantity(rawValue: "motion")
    /// The sensor moves.
    public static let moving = SensorQuantity(rawValue: "moving")
    /// The room or the seat is occupied.
    public static let occupancy = SensorQuantity(rawValue: "occupancy")
    /// What the sensor watches is open.
    public static let opening = SensorQuantity(rawValue: "opening")
    /// The plug is in.
    public static let plug = SensorQuantity(rawValue: "plug")
    /// The power is on.
    public static let powerOn = SensorQuantity(rawValue: "powerOn")
    /// Somebody is at home.
    public static let presence = SensorQuantity(rawValue: "presence")
    /// There is a problem.
    public static let problem = SensorQuantity(rawValue: "problem")
    /// A machine runs.
    public static let running = SensorQuantity(rawValue: "running")
    /// Nothing dangerous is detected.
    public static let safety = SensorQuantity(rawValue: "safety")
    /// Smoke is detected.
    public static let smoke = SensorQuantity(rawValue: "smoke")
    /// Sound is detected.
    public static let sound = SensorQuantity(rawValue: "sound")
    /// Somebody tampers with the sensor.
    public static let tamper = SensorQuantity(rawValue: "tamper")
    /// The lock is unlocked.
    public static let unlocked = SensorQuantity(rawValue: "unlocked")
    /// Vibration is detected.
    public static let vibration = SensorQuantity(rawValue: "vibration")
    /// Water is detected.
    public static let wet = SensorQuantity(rawValue: "wet")
    /// The window is open.
    public static let window = SensorQuantity(rawValue: "window")
}

/// What has events.
extension SensorQuantity {
    /// A button.
    public static let button = SensorQuantity(rawValue: "button")
    /// A command of a remote control.
    public static let command = SensorQuantity(rawValue: "command")
    /// A dimmer.
    public static let dimmer = SensorQuantity(rawValue: "dimmer")
}
