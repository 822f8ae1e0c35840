import BluetoothGATT
import BluetoothPrimitives

/// A Glucose Measurement Context: what a user has entered about a measurement (Glucose Service §3.2); nil is not sent.
///
/// The codes of meals, health, medication and so on are those of the GATT Specification Supplement.
public struct GlucoseMeasurementContext: Hashable, Sendable, FieldValue {
    /// A substance that was taken: its code, and its amount.
    public struct Intake: Hashable, Sendable {
        /// The code of the kind, from 1: of carbohydrates breakfast, lunch, dinner, snack, drink, supper, brunch; of
        /// medication rapid, short, intermediate, long acting and pre-mixed insulin.
        public var kind: UInt8
        /// The amount: of carbohydrates in grams, of medication in milligrams or milliliters.
        public var amount: Double

        /// An intake.
        public init(kind: UInt8, amount: Double) { (self.kind, self.amount) = (kind, amount) }
    }

    /// The unit of an amount of medication.
    public enum MedicationUnit: Hashable, Sendable {
        /// Milligrams.
        case milligrams
        /// Milliliters.
        case milliliters
    }

    /// The number of the ``GlucoseMeasurement``.
    public var sequenceNumber: Int
    /// The carbohydrates, in grams.
    public var carbohydrates: Intake?
    /// The code of the meal: 1 preprandial, 2 postprandial, 3 fasting, 4 casual, 5 bedtime.
    public var meal: UInt8?
    /// The code of the tester: 1 the user, 2 a health care professional, 3 a laboratory, 15 not available; nil without
    /// ``health``.
    public var tester: UInt8?
    /// The code of the health: 1 minor issues, 2 major issues, 3 during menses, 4 under stress, 5 no issues, 15 not
    /// available; nil without ``tester``.
    public var health: UInt8?
    /// The duration of an exercise in seconds; 65,535 is a longer one. It comes with the ``exerciseIntensity``.
    public var exerciseDuration: Int?
    /// The intensity of the exercise in percent. It comes with the ``exerciseDuration``.
    public var exerciseIntensity: Int?
    /// The medication, in the ``medicationUnit``.
    public var medication: Intake?
    /// The unit of the medication.
    public var medicationUnit: MedicationUnit
    /// The glycated hemoglobin HbA1c in percent.
    public var hemoglobinA1c: Double?

    /// A context without entries.
    public init(sequenceNumber: Int) {
        self.sequenceNumber = sequenceNumber
        medicationUnit = .milligrams
    }

    static let initial = Self(sequenceNumber: 0)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 1)
        try fields.number("sequence", &value.sequenceNumber, .u16)
        // The extended flags have no meaning yet.
        if fields.isPresent(flag: 7, false) { try fields.reserved(1) }
        if fields.isPresent(flag: 0, value.carbohydrates != nil) {
            // Kilograms on the air.
            value.carbohydrates = try intake("carbohydrates", value.carbohydrates, .ten(3), "g", &fields)
        }
        var meal = value.meal.map { Int($0) }
        try fields.number("meal", &meal, .u8, flag: 1)
        value.meal = meal.map { UInt8(truncatingIfNeeded: $0) }
        if fields.isPresent(flag: 2, value.tester != nil || value.health != nil) {
            (value.tester, value.health) = try fields.nibbles(
                "tester and health", value.tester ?? 15, value.health ?? 15)
        }
        if fields.isPresent(flag: 3, value.exerciseDuration != nil || value.exerciseIntensity != nil) {
            try fields.number("exercise", &value.exerciseDuration, .u16, unit: "s")
            try fields.number("intensity", &value.exerciseIntensity, .u8, unit: "%")
        }
        if fields.isPresent(flag: 4, value.medication != nil) {
            let isVolume = fields.isPresent(flag: 5, value.medicationUnit == .milliliters)
            value.medicationUnit = isVolume ? .milliliters : .milligrams
            // Kilograms or liters on the air.
            value.medication = try intake(
                "medication", value.medication, .ten(isVolume ? 3 : 6), isVolume ? "mL" : "mg", &fields)
        }
        try fields.number("HbA1c", &value.hemoglobinA1c, .sfloat, unit: "%", flag: 6)
    }

    private static func intake(
        _ name: String, _ value: Intake?, _ scale: NumberScale, _ unit: String, _ fields: inout FieldCoder
    ) throws(MalformedValue) -> Intake {
        var (kind, amount) = (Int(value?.kind ?? 0), value?.amount ?? 0)
        try fields.number("\(name) kind", &kind, .u8)
        try fields.number(name, &amount, .sfloat, scale, unit: unit)
        return Intake(kind: UInt8(truncatingIfNeeded: kind), amount: amount)
    }
}

/// A request for stored records, or the response to one (Glucose Service §3.4).
///
/// ```swift
/// try await connection.write(.report(from: 12), to: .recordAccessControlPoint)
/// ```
public struct RecordAccess: Hashable, Sendable, FieldValue {
    /// The operation: 1 report records, 2 delete records, 3 abort, 4 report the number of records, 5 the number of records,
    /// 6 a response.
    public var operation: UInt8
    /// The records: 0 none, 1 all, 2 up to, 3 from, 4 within a range, 5 the first, 6 the last.
    public var selection: UInt8
    /// The filter or the result.
    public var operand: [UInt8]

    /// A request from its parts.
    public init(operation: UInt8, selection: UInt8 = 0, operand: [UInt8] = []) {
        (self.operation, self.selection, self.operand) = (operation, selection, operand)
    }

    /// Sends all records.
    public static let reportAll = RecordAccess(operation: 1, selection: 1)
    /// Sends the newest record.
    public static let reportLast = RecordAccess(operation: 1, selection: 6)
    /// Sends the records from a sequence number on.
    public static func report(from sequenceNumber: UInt16) -> RecordAccess {
        RecordAccess(operation: 1, selection: 3, operand: [1] + littleEndian(sequenceNumber))
    }
    /// Sends the number of all records.
    public static let countAll = RecordAccess(operation: 4, selection: 1)
    /// Deletes all records.
    public static let deleteAll = RecordAccess(operation: 2, selection: 1)
    /// Ends the operation in progress.
    public static let abort = RecordAccess(operation: 3)

    /// The number of records, of a response that has it.
    public var recordCount: Int? {
        operation == 5 && operand.count >= 2 ? Int(operand[0]) | Int(operand[1]) << 8 : nil
    }

    /// The code of a response: 1 success, 2 operation not supported, 3 invalid selection, 4 selection not supported,
    /// 5 invalid operand, 6 no records found, 7 abort unsuccessful, 8 procedure not completed, 9 operand not supported.
    public var responseCode: UInt8? { operation == 6 && operand.count >= 2 ? operand[1] : nil }

    static let initial = Self(operation: 0)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        var (operation, selection) = (Int(value.operation), Int(value.selection))
        try fields.number("operation", &operation, .u8)
        try fields.number("selection", &selection, .u8)
        (value.operation, value.selection) = (UInt8(operation), UInt8(selection))
        fields.remainder("operand", &value.operand)
    }
}

extension Characteristic where Value == GlucoseMeasurementContext {
    /// Glucose Measurement Context: what a user has entered about a measurement.
    public static var glucoseMeasurementContext: Self { Self(0x2A34, in: .glucose, properties: .notify) }
}

extension Characteristic where Value == RecordAccess {
    /// Record Access Control Point: requests for stored records, and the responses, which are indicated.
    public static var recordAccessControlPoint: Self {
        Self(.recordAccessControlPoint, in: .glucose, properties: [.write, .indicate])
    }
}
