import BluetoothPrimitives

/// The characteristics that have a type here.
package enum TypedCharacteristics {
    /// The characteristics by their UUID.
    package static let all: [BluetoothUUID: any TypedCharacteristic] = {
        let lists: [[any TypedCharacteristic]] = [
            devices, health, cycling, running, environment, time, proximity,
        ]
        return Dictionary(lists.joined().map { ($0.uuid, $0) }) { first, _ in first }
    }()

    private static var devices: [any TypedCharacteristic] {
        [
            Characteristic.batteryLevel, Characteristic.manufacturerNameString, Characteristic.modelNumberString,
            Characteristic.serialNumberString, Characteristic.hardwareRevisionString,
            Characteristic.firmwareRevisionString, Characteristic.softwareRevisionString, Characteristic.systemID,
            Characteristic.pnpID,
        ]
    }

    private static var health: [any TypedCharacteristic] {
        [
            Characteristic.heartRateMeasurement, Characteristic.bodySensorLocation,
            Characteristic.heartRateControlPoint, Characteristic.temperatureMeasurement,
            Characteristic.intermediateTemperature, Characteristic.temperatureType, Characteristic.measurementInterval,
            Characteristic.bloodPressureMeasurement, Characteristic.intermediateCuffPressure,
            Characteristic.bloodPressureFeature, Characteristic.glucoseMeasurement,
            Characteristic.glucoseMeasurementContext, Characteristic.glucoseFeature,
            Characteristic.recordAccessControlPoint, Characteristic.weightMeasurement,
            Characteristic.weightScaleFeature, Characteristic.plxSpotCheckMeasurement,
            Characteristic.plxContinuousMeasurement, Characteristic.plxFeatures,
        ]
    }
}
