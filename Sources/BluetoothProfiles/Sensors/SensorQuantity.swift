/// What a sensor measures or detects. An open set: later formats have quantities of their own.
public struct SensorQuantity: RawRepresentable, Hashable, Sendable {
    /// The name of the quantity, such as `carbonDioxide`.
    public let rawValue: String

    /// The quantity with this name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    private init(_ name: String) {
        rawValue = name
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
    public static let accelerationX = SensorQuantity("accelerationX")
    /// The acceleration along the sensor's y axis.
    public static let accelerationY = SensorQuantity("accelerationY")
    /// The acceleration along the sensor's z axis.
    public static let accelerationZ = SensorQuantity("accelerationZ")
    /// The acceleration of the sensor.
    public static let acceleration = SensorQuantity("acceleration")
    /// The angular velocity of the sensor.
    public static let angularVelocity = SensorQuantity("angularVelocity")
    /// The charge of the battery.
    public static let battery = SensorQuantity("battery")
    /// The concentration of carbon dioxide.
    public static let carbonDioxide = SensorQuantity("carbonDioxide")
    /// The number of a channel.
    public static let channel = SensorQuantity("channel")
    /// The conductivity, such as of soil.
    public static let conductivity = SensorQuantity("conductivity")
    /// The rest of what the device uses up.
    public static let consumable = SensorQuantity("consumable")
    /// A number of things or of events.
    public static let count = SensorQuantity("count")
    /// The electric current.
    public static let current = SensorQuantity("current")
    /// The number that the maker has given to the kind of device.
    public static let deviceType = SensorQuantity("deviceType")
    /// The dew point.
    public static let dewPoint = SensorQuantity("dewPoint")
    /// A direction, such as of wind.
    public static let direction = SensorQuantity("direction")
    /// A distance.
    public static let distance = SensorQuantity("distance")
    /// A duration.
    public static let duration = SensorQuantity("duration")
    /// The electric energy.
    public static let energy = SensorQuantity("energy")
    /// The version of the firmware, a text.
    public static let firmwareVersion = SensorQuantity("firmwareVersion")
    /// The concentration of formaldehyde.
    public static let formaldehyde = SensorQuantity("formaldehyde")
    /// The volume of gas.
    public static let gas = SensorQuantity("gas")
    /// The relative humidity of air.
    public static let humidity = SensorQuantity("humidity")
    /// The illuminance.
    public static let illuminance = SensorQuantity("illuminance")
    /// The level of the ambient light as a number of the sensor's own scale.
    public static let lightLevel = SensorQuantity("lightLevel")
    /// The mass.
    public static let mass = SensorQuantity("mass")
    /// The moisture, such as of soil.
    public static let moisture = SensorQuantity("moisture")
    /// The number of movements detected.
    public static let movementCount = SensorQuantity("movementCount")
    /// The index of nitrogen oxides, 1 to 500.
    public static let noxIndex = SensorQuantity("noxIndex")
    /// The number of the packet: the same in repetitions of one message.
    public static let packetID = SensorQuantity("packetID")
    /// The concentration of particles up to 10 µm.
    public static let pm10 = SensorQuantity("pm10")
    /// The concentration of particles up to 1 µm.
    public static let pm1 = SensorQuantity("pm1")
    /// The concentration of particles up to 2.5 µm.
    public static let pm25 = SensorQuantity("pm25")
    /// The concentration of particles up to 4 µm.
    public static let pm4 = SensorQuantity("pm4")
    /// The electric power.
    public static let power = SensorQuantity("power")
    /// The precipitation.
    public static let precipitation = SensorQuantity("precipitation")
    /// The pressure of air.
    public static let pressure = SensorQuantity("pressure")
    /// Bytes in a format of the sensor's own.
    public static let raw = SensorQuantity("raw")
    /// A number of revolutions per time.
    public static let rotationalSpeed = SensorQuantity("rotationalSpeed")
    /// An angle.
    public static let rotation = SensorQuantity("rotation")
    /// The number of the measurement.
    public static let sequenceNumber = SensorQuantity("sequenceNumber")
    /// A number that changes with the sensor's settings.
    public static let settingsRevision = SensorQuantity("settingsRevision")
    /// A speed.
    public static let speed = SensorQuantity("speed")
    /// The temperature.
    public static let temperature = SensorQuantity("temperature")
    /// A text.
    public static let text = SensorQuantity("text")
    /// A time in seconds since 1970.
    public static let timestamp = SensorQuantity("timestamp")
    /// The transmit power.
    public static let transmitPower = SensorQuantity("transmitPower")
    /// The UV index.
    public static let uvIndex = SensorQuantity("uvIndex")
    /// The index of volatile organic compounds, 1 to 500.
    public static let vocIndex = SensorQuantity("vocIndex")
    /// The concentration of volatile organic compounds.
    public static let volatileOrganicCompounds = SensorQuantity("volatileOrganicCompounds")
    /// The electric voltage, such as of the battery.
    public static let voltage = SensorQuantity("voltage")
    /// A volume per time.
    public static let volumeFlowRate = SensorQuantity("volumeFlowRate")
    /// A stored volume.
    public static let volumeStorage = SensorQuantity("volumeStorage")
    /// A volume.
    public static let volume = SensorQuantity("volume")
    /// The volume of water.
    public static let water = SensorQuantity("water")
}

/// States: true if the sentence holds.
extension SensorQuantity {
    /// The battery is being charged.
    public static let batteryCharging = SensorQuantity("batteryCharging")
    /// The sensor is calibrating itself, and its values are not exact yet.
    public static let calibrating = SensorQuantity("calibrating")
    /// Carbon monoxide is detected.
    public static let carbonMonoxide = SensorQuantity("carbonMonoxide")
    /// It is too cold.
    public static let cold = SensorQuantity("cold")
    /// There is a connection.
    public static let connectivity = SensorQuantity("connectivity")
    /// The door is open.
    public static let door = SensorQuantity("door")
    /// The garage door is open.
    public static let garageDoor = SensorQuantity("garageDoor")
    /// Gas is detected.
    public static let gasDetected = SensorQuantity("gasDetected")
    /// A state without a meaning of its own.
    public static let generic = SensorQuantity("generic")
    /// It is too hot.
    public static let heat = SensorQuantity("heat")
    /// Light is detected.
    public static let light = SensorQuantity("light")
    /// The battery is low.
    public static let lowBattery = SensorQuantity("lowBattery")
    /// Motion is detected.
    public static let motion = SensorQuantity("motion")
    /// The sensor moves.
    public static let moving = SensorQuantity("moving")
    /// The room or the seat is occupied.
    public static let occupancy = SensorQuantity("occupancy")
    /// What the sensor watches is open.
    public static let opening = SensorQuantity("opening")
    /// The plug is in.
    public static let plug = SensorQuantity("plug")
    /// The power is on.
    public static let powerOn = SensorQuantity("powerOn")
    /// Somebody is at home.
    public static let presence = SensorQuantity("presence")
    /// There is a problem.
    public static let problem = SensorQuantity("problem")
    /// A machine runs.
    public static let running = SensorQuantity("running")
    /// Nothing dangerous is detected.
    public static let safety = SensorQuantity("safety")
    /// Smoke is detected.
    public static let smoke = SensorQuantity("smoke")
    /// Sound is detected.
    public static let sound = SensorQuantity("sound")
    /// Somebody tampers with the sensor.
    public static let tamper = SensorQuantity("tamper")
    /// The lock is unlocked.
    public static let unlocked = SensorQuantity("unlocked")
    /// Vibration is detected.
    public static let vibration = SensorQuantity("vibration")
    /// Water is detected.
    public static let wet = SensorQuantity("wet")
    /// The window is open.
    public static let window = SensorQuantity("window")
}

/// What has events.
extension SensorQuantity {
    /// A button.
    public static let button = SensorQuantity("button")
    /// A command of a remote control.
    public static let command = SensorQuantity("command")
    /// A dimmer.
    public static let dimmer = SensorQuantity("dimmer")
}
