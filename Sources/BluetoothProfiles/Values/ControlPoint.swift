import BluetoothATT
import BluetoothHost
import BluetoothLE
import BluetoothPrimitives

/// A message of a control point: a request with its op code, or the response to one.
public protocol ControlPointMessage: Hashable, Sendable {
    /// The op code of responses.
    static var responseCode: UInt8 { get }
    /// The op code.
    var opcode: UInt8 { get set }
    /// The bytes after the op code.
    var parameter: [UInt8] { get set }

    /// A message.
    init(opcode: UInt8, parameter: [UInt8])
}

extension ControlPointMessage {
    /// The response to a request.
    public init(to request: Self, _ result: ControlPointResult, parameter: [UInt8] = []) {
        self.init(opcode: Self.responseCode, parameter: [request.opcode, result.rawValue] + parameter)
    }

    /// The op code of the request, the result and its parameter; nil if the message is no response.
    public var response: (request: UInt8, result: ControlPointResult, parameter: [UInt8])? {
        guard opcode == Self.responseCode, parameter.count >= 2 else { return nil }
        return (parameter[0], ControlPointResult(rawValue: parameter[1]), Array(parameter[2...]))
    }
}

/// The result of a control point's procedure. An open set.
public struct ControlPointResult: RawRepresentable, Hashable, Sendable, CustomStringConvertible, NamedValue {
    /// The response code.
    public let rawValue: UInt8

    /// The result with this response code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The procedure succeeded.
    public static let success = Self(rawValue: 1)
    /// The device does not support the op code.
    public static let opcodeNotSupported = Self(rawValue: 2)
    /// The parameter is invalid.
    public static let invalidParameter = Self(rawValue: 3)
    /// The procedure failed.
    public static let operationFailed = Self(rawValue: 4)

    /// The names of the results.
    static let names = ["success", "op code not supported", "invalid parameter", "operation failed"]
    static let firstName = 1
}

/// A procedure of a control point, with a result of a type.
public struct ControlPointProcedure<Message: ControlPointMessage, Result: Sendable>: Sendable {
    /// The message that requests it.
    public let request: Message
    let decode: @Sendable (inout FieldCoder) throws(MalformedValue) -> Result

    /// A procedure whose response has no parameter.
    public init(_ opcode: UInt8, parameter: [UInt8] = []) where Result == Void {
        self.init(opcode, parameter: parameter) { (_) throws(MalformedValue) in }
    }

    /// A procedure.
    /// - Parameters:
    ///   - opcode: the op code of the request.
    ///   - parameter: the parameter of the request.
    ///   - result: reads the parameter of a successful response.
    public init(
        _ opcode: UInt8, parameter: [UInt8] = [],
        result: @escaping @Sendable (inout FieldCoder) throws(MalformedValue) -> Result
    ) {
        request = Message(opcode: opcode, parameter: parameter)
        decode = result
    }
}

extension Connection {
    /// Performs a procedure of a control point and returns its result:
    /// `try await connection.perform(.crankLength, on: .cyclingPowerControlPoint)`.
    ///
    /// Enables indications for it, which the device requires.
    /// - Parameters:
    ///   - procedure: the procedure.
    ///   - controlPoint: the characteristic.
    ///   - timeout: the longest time for all of this; nil for no limit but the device's 30 s for each response to a
    ///     request. A calibration may take 30 s.
    /// - Throws: `.failed` when the device responds with another result than success, `.malformedValue` for a response
    ///   without a meaning, besides what subscribing and writing throw.
    @discardableResult
    public nonisolated(nonsending) func perform<Message, Result>(
        _ procedure: ControlPointProcedure<Message, Result>, on controlPoint: Characteristic<Message>,
        timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> Result {
        let operation = BluetoothError.Operation(
            "perform 0x" + hexadecimal(procedure.request.opcode, digits: 2), peer: peer)
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        let responses = try await subscribe(to: controlPoint, kind: .indication, timeout: timeout)
        try await write(
            procedure.request, to: controlPoint, type: .withResponse, timeout: deadline?.remaining(at: loop.now))
        do throws(BluetoothError) {
            return try await withTimeLimit(deadline?.remaining(at: loop.now), on: loop) {
                for try await message in responses {
                    guard let response = message.response, response.request == procedure.request.opcode else {
                        continue
                    }
                    guard response.result == .success else {
                        throw BluetoothError(.failed, operation, "The device responds: \(response.result).")
                    }
                    var fields = FieldCoder(decoding: response.parameter)
                    return try procedure.decode(&fields)
                }
                throw BluetoothError(.disconnected, operation, "The subscription has ended.")
            }
        } catch {
            guard let problem = error.underlyingError as? MalformedValue else { throw error }
            throw BluetoothError(.malformedValue, operation, "Malformed response: \(problem).")
        }
    }
}

extension Characteristic where Value: ControlPointMessage {
    /// A control point: written with a request, indicated with the response.
    static func controlPoint(_ uuid: BluetoothUUID, in service: BluetoothUUID) -> Self {
        Self(
            uuid, in: service, properties: [.write, .indicate], initial: Value(opcode: 0, parameter: [])
        ) { (value, fields) throws(MalformedValue) in
            try fields.identifier("op code", &value.opcode)
            fields.remainder("parameter", &value.parameter)
        }
    }
}

// MARK: The location of a sensor

/// The location of a sensor of speed, cadence or power (Sensor Location). An open set.
public struct SensorLocation: RawRepresentable, Hashable, Sendable, CustomStringConvertible, NamedValue {
    /// The code of the location.
    public let rawValue: UInt8

    /// The location with this code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Elsewhere.
    public static let other = Self(rawValue: 0)
    /// The top of a shoe.
    public static let topOfShoe = Self(rawValue: 1)
    /// The inside of a shoe.
    public static let inShoe = Self(rawValue: 2)
    /// The hip.
    public static let hip = Self(rawValue: 3)
    /// The front wheel.
    public static let frontWheel = Self(rawValue: 4)
    /// The left crank.
    public static let leftCrank = Self(rawValue: 5)
    /// The right crank.
    public static let rightCrank = Self(rawValue: 6)
    /// The left pedal.
    public static let leftPedal = Self(rawValue: 7)
    /// The right pedal.
    public static let rightPedal = Self(rawValue: 8)
    /// The front hub.
    public static let frontHub = Self(rawValue: 9)
    /// The rear dropout.
    public static let rearDropout = Self(rawValue: 10)
    /// The chainstay.
    public static let chainstay = Self(rawValue: 11)
    /// The rear wheel.
    public static let rearWheel = Self(rawValue: 12)
    /// The rear hub.
    public static let rearHub = Self(rawValue: 13)
    /// The chest.
    public static let chest = Self(rawValue: 14)
    /// The spider of the crank.
    public static let spider = Self(rawValue: 15)
    /// The chain ring.
    public static let chainRing = Self(rawValue: 16)

    /// The names of the locations.
    static let names = [
        "other", "top of shoe", "in shoe", "hip", "front wheel", "left crank", "right crank", "left pedal",
        "right pedal", "front hub", "rear dropout", "chainstay", "rear wheel", "rear hub", "chest", "spider",
        "chain ring",
    ]
}

extension Characteristic where Value == SensorLocation {
    /// Sensor Location of the Cycling Speed and Cadence service.
    public static var cyclingSensorLocation: Self {
        Self(.sensorLocation, in: .cyclingSpeedAndCadence, initial: .other)
    }

    /// Sensor Location of the Cycling Power service.
    public static var cyclingPowerSensorLocation: Self { Self(.sensorLocation, in: .cyclingPower, initial: .other) }

    /// Sensor Location of the Running Speed and Cadence service.
    public static var runningSensorLocation: Self {
        Self(.sensorLocation, in: .runningSpeedAndCadence, initial: .other)
    }
}

// MARK: SC Control Point

/// A message of the SC Control Point of the cycling and the running sensors.
public struct SCControlPoint: ControlPointMessage {
    /// The op code of responses.
    public static let responseCode: UInt8 = 0x10
    /// The op code.
    public var opcode: UInt8
    /// The bytes after the op code.
    public var parameter: [UInt8]

    /// A message.
    public init(opcode: UInt8, parameter: [UInt8] = []) {
        (self.opcode, self.parameter) = (opcode, parameter)
    }
}

extension ControlPointProcedure where Message == SCControlPoint, Result == Void {
    /// Sets the revolutions of the wheel, or the distance of a runner in tenths of a meter.
    public static func setCumulativeValue(_ value: UInt32) -> Self { Self(1, parameter: littleEndian(value)) }
    /// Calibrates the sensor.
    public static var startCalibration: Self { Self(2) }
    /// Chooses the location of the sensor.
    public static func updateLocation(_ location: SensorLocation) -> Self { Self(3, parameter: [location.rawValue]) }
}

extension ControlPointProcedure where Message == SCControlPoint, Result == [SensorLocation] {
    /// Requests the locations that the sensor supports.
    public static var supportedLocations: Self { Self(4) { $0.sensorLocations() } }
}

extension FieldCoder {
    /// The locations up to the end of the value.
    mutating func sensorLocations() -> [SensorLocation] {
        var codes: [UInt8] = []
        remainder(nil, &codes)
        return codes.map(SensorLocation.init)
    }
}
