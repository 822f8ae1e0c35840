import BluetoothPrimitives

/// The characteristics that have a type here.
package enum TypedCharacteristics {
    /// The characteristics by their UUID.
    package static let all: [BluetoothUUID: any TypedCharacteristic] = {
        let all: [any TypedCharacteristic] = [
            Characteristic.batteryLevel, Characteristic.manufacturerNameString, Characteristic.modelNumberString,
            Characteristic.serialNumberString, Characteristic.hardwareRevisionString,
            Characteristic.firmwareRevisionString, Characteristic.softwareRevisionString, Characteristic.systemID,
            Characteristic.pnpID,
            Characteristic.heartRateMeasurement, Characteristic.bodySensorLocation,
            Characteristic.heartRateControlPoint, Characteristic.temperatureMeasurement,
            Characteristic.intermediateTemperature, Characteristic.temperatureType, Characteristic.measurementInterval,
            Characteristic.bloodPressureMeasurement, Characteristic.intermediateCuffPressure,
            Characteristic.bloodPressureFeature, Characteristic.glucoseMeasurement,
            Characteristic.glucoseMeasurementContext, Characteristic.glucoseFeature,
            Characteristic.recordAccessControlPoint, Characteristic.weightMeasurement,
            Characteristic.weightScaleFeature, Characteristic.plxSpotCheckMeasurement,
            Characteristic.plxContinuousMeasurement, Characteristic.plxFeatures,
            Characteristic.cscMeasurement, Characteristic.cscFeature, Characteristic.cyclingSensorLocation,
            Characteristic.cyclingPowerMeasurement, Characteristic.cyclingPowerVector,
            Characteristic.cyclingPowerFeature,
            Characteristic.rscMeasurement, Characteristic.rscFeature,
            Characteristic.temperature, Characteristic.dewPoint, Characteristic.heatIndex, Characteristic.windChill,
            Characteristic.apparentWindDirection, Characteristic.apparentWindSpeed, Characteristic.elevation,
            Characteristic.gustFactor, Characteristic.irradiance, Characteristic.magneticDeclination,
            Characteristic.pressure, Characteristic.trueWindDirection, Characteristic.trueWindSpeed,
            Characteristic.ammoniaConcentration, Characteristic.carbonMonoxideConcentration,
            Characteristic.methaneConcentration, Characteristic.nitrogenDioxideConcentration,
            Characteristic.nonMethaneVOCConcentration, Characteristic.ozoneConcentration,
            Characteristic.pm1Concentration, Characteristic.pm2_5Concentration, Characteristic.pm10Concentration,
            Characteristic.sulfurDioxideConcentration, Characteristic.sulfurHexafluorideConcentration,
            Characteristic.humidity, Characteristic.pollenConcentration, Characteristic.rainfall,
            Characteristic.uvIndex, Characteristic.co2Concentration, Characteristic.vocConcentration,
            Characteristic.magneticFluxDensity2D, Characteristic.magneticFluxDensity3D,
            Characteristic.barometricPressureTrend, Characteristic.descriptorValueChanged,
            Characteristic.currentTime, Characteristic.localTimeInformation, Characteristic.referenceTimeInformation,
            Characteristic.alertLevel, Characteristic.txPowerLevel,
        ]
        return Dictionary(all.map { ($0.uuid, $0) }) { first, _ in first }
    }()
}
