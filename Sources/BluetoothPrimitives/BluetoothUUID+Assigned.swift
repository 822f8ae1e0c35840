// Generated from Tests/AssignedNumbers/uuids.csv by Tests/AssignedNumbers/generate.

/// The services that programs name (Assigned Numbers §3).
extension BluetoothUUID {
    /// The Generic Access service: the name and appearance of the device (Core Vol 3 Part C §12).
    @inlinable public static var genericAccess: BluetoothUUID { BluetoothUUID(0x1800 as UInt16) }
    /// The Generic Attribute service: changes of the server's database (Core Vol 3 Part G §7).
    @inlinable public static var genericAttribute: BluetoothUUID { BluetoothUUID(0x1801 as UInt16) }
    /// The Immediate Alert service.
    @inlinable public static var immediateAlert: BluetoothUUID { BluetoothUUID(0x1802 as UInt16) }
    /// The Link Loss service.
    @inlinable public static var linkLoss: BluetoothUUID { BluetoothUUID(0x1803 as UInt16) }
    /// The Tx Power service.
    @inlinable public static var txPower: BluetoothUUID { BluetoothUUID(0x1804 as UInt16) }
    /// The Current Time service.
    @inlinable public static var currentTimeService: BluetoothUUID { BluetoothUUID(0x1805 as UInt16) }
    /// The Glucose service.
    @inlinable public static var glucose: BluetoothUUID { BluetoothUUID(0x1808 as UInt16) }
    /// The Health Thermometer service.
    @inlinable public static var healthThermometer: BluetoothUUID { BluetoothUUID(0x1809 as UInt16) }
    /// The Device Information service.
    @inlinable public static var deviceInformation: BluetoothUUID { BluetoothUUID(0x180A as UInt16) }
    /// The Heart Rate service.
    @inlinable public static var heartRate: BluetoothUUID { BluetoothUUID(0x180D as UInt16) }
    /// The Battery service.
    @inlinable public static var battery: BluetoothUUID { BluetoothUUID(0x180F as UInt16) }
    /// The Blood Pressure service.
    @inlinable public static var bloodPressure: BluetoothUUID { BluetoothUUID(0x1810 as UInt16) }
    /// The Alert Notification service.
    @inlinable public static var alertNotification: BluetoothUUID { BluetoothUUID(0x1811 as UInt16) }
    /// The Human Interface Device service.
    @inlinable public static var humanInterfaceDevice: BluetoothUUID { BluetoothUUID(0x1812 as UInt16) }
    /// The Scan Parameters service.
    @inlinable public static var scanParameters: BluetoothUUID { BluetoothUUID(0x1813 as UInt16) }
    /// The Running Speed and Cadence service.
    @inlinable public static var runningSpeedAndCadence: BluetoothUUID { BluetoothUUID(0x1814 as UInt16) }
    /// The Automation IO service.
    @inlinable public static var automationIO: BluetoothUUID { BluetoothUUID(0x1815 as UInt16) }
    /// The Cycling Speed and Cadence service.
    @inlinable public static var cyclingSpeedAndCadence: BluetoothUUID { BluetoothUUID(0x1816 as UInt16) }
    /// The Cycling Power service.
    @inlinable public static var cyclingPower: BluetoothUUID { BluetoothUUID(0x1818 as UInt16) }
    /// The Location and Navigation service.
    @inlinable public static var locationAndNavigation: BluetoothUUID { BluetoothUUID(0x1819 as UInt16) }
    /// The Environmental Sensing service.
    @inlinable public static var environmentalSensing: BluetoothUUID { BluetoothUUID(0x181A as UInt16) }
    /// The Body Composition service.
    @inlinable public static var bodyComposition: BluetoothUUID { BluetoothUUID(0x181B as UInt16) }
    /// The User Data service.
    @inlinable public static var userData: BluetoothUUID { BluetoothUUID(0x181C as UInt16) }
    /// The Weight Scale service.
    @inlinable public static var weightScale: BluetoothUUID { BluetoothUUID(0x181D as UInt16) }
    /// The Bond Management service.
    @inlinable public static var bondManagement: BluetoothUUID { BluetoothUUID(0x181E as UInt16) }
    /// The Continuous Glucose Monitoring service.
    @inlinable public static var continuousGlucoseMonitoring: BluetoothUUID { BluetoothUUID(0x181F as UInt16) }
    /// The Pulse Oximeter service.
    @inlinable public static var pulseOximeter: BluetoothUUID { BluetoothUUID(0x1822 as UInt16) }
    /// The Object Transfer service.
    @inlinable public static var objectTransfer: BluetoothUUID { BluetoothUUID(0x1825 as UInt16) }
    /// The Fitness Machine service.
    @inlinable public static var fitnessMachine: BluetoothUUID { BluetoothUUID(0x1826 as UInt16) }
}

/// The declarations that programs name (Assigned Numbers §3).
extension BluetoothUUID {
    /// The Primary Service declaration: the value is the service UUID (Core Vol 3 Part G §3.1).
    @inlinable public static var primaryService: BluetoothUUID { BluetoothUUID(0x2800 as UInt16) }
    /// The Secondary Service declaration: of a service that others include; the value is its UUID (Core Vol 3 Part G
    /// §3.1).
    @inlinable public static var secondaryService: BluetoothUUID { BluetoothUUID(0x2801 as UInt16) }
    /// The Include declaration (Core Vol 3 Part G §3.2).
    @inlinable public static var include: BluetoothUUID { BluetoothUUID(0x2802 as UInt16) }
    /// The Characteristic declaration: properties, value handle and UUID (Core Vol 3 Part G §3.3.1).
    @inlinable public static var characteristic: BluetoothUUID { BluetoothUUID(0x2803 as UInt16) }
}

/// The descriptors that programs name (Assigned Numbers §3).
extension BluetoothUUID {
    /// The Characteristic Extended Properties descriptor (Core Vol 3 Part G §3.3.3.1).
    @inlinable public static var characteristicExtendedProperties: BluetoothUUID { BluetoothUUID(0x2900 as UInt16) }
    /// The Characteristic User Description descriptor: a UTF-8 string (Core Vol 3 Part G §3.3.3.2).
    @inlinable public static var characteristicUserDescription: BluetoothUUID { BluetoothUUID(0x2901 as UInt16) }
    /// The Client Characteristic Configuration descriptor: with a value for each client (Core Vol 3 Part G §3.3.3.3).
    @inlinable public static var clientCharacteristicConfiguration: BluetoothUUID { BluetoothUUID(0x2902 as UInt16) }
    /// The Server Characteristic Configuration descriptor: the same for all clients (Core Vol 3 Part G §3.3.3.4).
    @inlinable public static var serverCharacteristicConfiguration: BluetoothUUID { BluetoothUUID(0x2903 as UInt16) }
    /// The Characteristic Presentation Format descriptor: format, exponent and unit of the value (Core Vol 3 Part G
    /// §3.3.3.5).
    @inlinable public static var characteristicPresentationFormat: BluetoothUUID { BluetoothUUID(0x2904 as UInt16) }
    /// The Characteristic Aggregate Format descriptor: the handles of the components' presentation formats (Core Vol 3
    /// Part G §3.3.3.6).
    @inlinable public static var characteristicAggregateFormat: BluetoothUUID { BluetoothUUID(0x2905 as UInt16) }
    /// The Valid Range descriptor: the minimum and the maximum.
    @inlinable public static var validRange: BluetoothUUID { BluetoothUUID(0x2906 as UInt16) }
    /// The External Report Reference descriptor (HID Service).
    @inlinable public static var externalReportReference: BluetoothUUID { BluetoothUUID(0x2907 as UInt16) }
    /// The Report Reference descriptor (HID Service).
    @inlinable public static var reportReference: BluetoothUUID { BluetoothUUID(0x2908 as UInt16) }
    /// The Number of Digitals descriptor (Automation IO Service).
    @inlinable public static var numberOfDigitals: BluetoothUUID { BluetoothUUID(0x2909 as UInt16) }
    /// The Value Trigger Setting descriptor (Automation IO Service).
    @inlinable public static var valueTriggerSetting: BluetoothUUID { BluetoothUUID(0x290A as UInt16) }
    /// The Environmental Sensing Configuration descriptor (Environmental Sensing Service).
    @inlinable public static var environmentalSensingConfiguration: BluetoothUUID { BluetoothUUID(0x290B as UInt16) }
    /// The Environmental Sensing Measurement descriptor (Environmental Sensing Service).
    @inlinable public static var environmentalSensingMeasurement: BluetoothUUID { BluetoothUUID(0x290C as UInt16) }
    /// The Environmental Sensing Trigger Setting descriptor (Environmental Sensing Service).
    @inlinable public static var environmentalSensingTriggerSetting: BluetoothUUID { BluetoothUUID(0x290D as UInt16) }
    /// The Time Trigger Setting descriptor (Automation IO Service).
    @inlinable public static var timeTriggerSetting: BluetoothUUID { BluetoothUUID(0x290E as UInt16) }
    /// The Complete BR-EDR Transport Block Data descriptor (Transport Discovery Service).
    @inlinable public static var completeBREDRTransportBlockData: BluetoothUUID { BluetoothUUID(0x290F as UInt16) }
    /// The Observation Schedule descriptor.
    @inlinable public static var observationSchedule: BluetoothUUID { BluetoothUUID(0x2910 as UInt16) }
    /// The Valid Range and Accuracy descriptor: the minimum, the maximum and the accuracy.
    @inlinable public static var validRangeAndAccuracy: BluetoothUUID { BluetoothUUID(0x2911 as UInt16) }
}

/// The characteristics that programs name (Assigned Numbers §3).
extension BluetoothUUID {
    /// The Device Name characteristic: a UTF-8 string of 0 to 248 bytes (Core Vol 3 Part C §12.1).
    @inlinable public static var deviceName: BluetoothUUID { BluetoothUUID(0x2A00 as UInt16) }
    /// The Appearance characteristic: two bytes (Core Vol 3 Part C §12.2).
    @inlinable public static var appearance: BluetoothUUID { BluetoothUUID(0x2A01 as UInt16) }
    /// The Peripheral Preferred Connection Parameters characteristic: interval, latency and supervision timeout (Core
    /// Vol 3 Part C §12.3).
    @inlinable public static var peripheralPreferredConnectionParameters: BluetoothUUID {
        BluetoothUUID(0x2A04 as UInt16)
    }
    /// The Service Changed characteristic: indicated with the affected handle range (Core Vol 3 Part G §7.1).
    @inlinable public static var serviceChanged: BluetoothUUID { BluetoothUUID(0x2A05 as UInt16) }
    /// The Alert Level characteristic.
    @inlinable public static var alertLevel: BluetoothUUID { BluetoothUUID(0x2A06 as UInt16) }
    /// The Tx Power Level characteristic.
    @inlinable public static var txPowerLevel: BluetoothUUID { BluetoothUUID(0x2A07 as UInt16) }
    /// The Glucose Measurement characteristic.
    @inlinable public static var glucoseMeasurement: BluetoothUUID { BluetoothUUID(0x2A18 as UInt16) }
    /// The Battery Level characteristic.
    @inlinable public static var batteryLevel: BluetoothUUID { BluetoothUUID(0x2A19 as UInt16) }
    /// The Temperature Measurement characteristic.
    @inlinable public static var temperatureMeasurement: BluetoothUUID { BluetoothUUID(0x2A1C as UInt16) }
    /// The Temperature Type characteristic.
    @inlinable public static var temperatureType: BluetoothUUID { BluetoothUUID(0x2A1D as UInt16) }
    /// The Intermediate Temperature characteristic.
    @inlinable public static var intermediateTemperature: BluetoothUUID { BluetoothUUID(0x2A1E as UInt16) }
    /// The Measurement Interval characteristic.
    @inlinable public static var measurementInterval: BluetoothUUID { BluetoothUUID(0x2A21 as UInt16) }
    /// The System ID characteristic.
    @inlinable public static var systemID: BluetoothUUID { BluetoothUUID(0x2A23 as UInt16) }
    /// The Model Number String characteristic.
    @inlinable public static var modelNumberString: BluetoothUUID { BluetoothUUID(0x2A24 as UInt16) }
    /// The Serial Number String characteristic.
    @inlinable public static var serialNumberString: BluetoothUUID { BluetoothUUID(0x2A25 as UInt16) }
    /// The Firmware Revision String characteristic.
    @inlinable public static var firmwareRevisionString: BluetoothUUID { BluetoothUUID(0x2A26 as UInt16) }
    /// The Hardware Revision String characteristic.
    @inlinable public static var hardwareRevisionString: BluetoothUUID { BluetoothUUID(0x2A27 as UInt16) }
    /// The Software Revision String characteristic.
    @inlinable public static var softwareRevisionString: BluetoothUUID { BluetoothUUID(0x2A28 as UInt16) }
    /// The Manufacturer Name String characteristic.
    @inlinable public static var manufacturerNameString: BluetoothUUID { BluetoothUUID(0x2A29 as UInt16) }
    /// The Current Time characteristic.
    @inlinable public static var currentTimeCharacteristic: BluetoothUUID { BluetoothUUID(0x2A2B as UInt16) }
    /// The Blood Pressure Measurement characteristic.
    @inlinable public static var bloodPressureMeasurement: BluetoothUUID { BluetoothUUID(0x2A35 as UInt16) }
    /// The Heart Rate Measurement characteristic.
    @inlinable public static var heartRateMeasurement: BluetoothUUID { BluetoothUUID(0x2A37 as UInt16) }
    /// The Body Sensor Location characteristic.
    @inlinable public static var bodySensorLocation: BluetoothUUID { BluetoothUUID(0x2A38 as UInt16) }
    /// The Heart Rate Control Point characteristic.
    @inlinable public static var heartRateControlPoint: BluetoothUUID { BluetoothUUID(0x2A39 as UInt16) }
    /// The Blood Pressure Feature characteristic.
    @inlinable public static var bloodPressureFeature: BluetoothUUID { BluetoothUUID(0x2A49 as UInt16) }
    /// The HID Information characteristic.
    @inlinable public static var hidInformation: BluetoothUUID { BluetoothUUID(0x2A4A as UInt16) }
    /// The Report Map characteristic.
    @inlinable public static var reportMap: BluetoothUUID { BluetoothUUID(0x2A4B as UInt16) }
    /// The HID Control Point characteristic.
    @inlinable public static var hidControlPoint: BluetoothUUID { BluetoothUUID(0x2A4C as UInt16) }
    /// The Report characteristic.
    @inlinable public static var report: BluetoothUUID { BluetoothUUID(0x2A4D as UInt16) }
    /// The Protocol Mode characteristic.
    @inlinable public static var protocolMode: BluetoothUUID { BluetoothUUID(0x2A4E as UInt16) }
    /// The PnP ID characteristic.
    @inlinable public static var pnpID: BluetoothUUID { BluetoothUUID(0x2A50 as UInt16) }
    /// The Record Access Control Point characteristic.
    @inlinable public static var recordAccessControlPoint: BluetoothUUID { BluetoothUUID(0x2A52 as UInt16) }
    /// The RSC Measurement characteristic.
    @inlinable public static var rscMeasurement: BluetoothUUID { BluetoothUUID(0x2A53 as UInt16) }
    /// The RSC Feature characteristic.
    @inlinable public static var rscFeature: BluetoothUUID { BluetoothUUID(0x2A54 as UInt16) }
    /// The SC Control Point characteristic.
    @inlinable public static var scControlPoint: BluetoothUUID { BluetoothUUID(0x2A55 as UInt16) }
    /// The CSC Measurement characteristic.
    @inlinable public static var cscMeasurement: BluetoothUUID { BluetoothUUID(0x2A5B as UInt16) }
    /// The CSC Feature characteristic.
    @inlinable public static var cscFeature: BluetoothUUID { BluetoothUUID(0x2A5C as UInt16) }
    /// The Sensor Location characteristic.
    @inlinable public static var sensorLocation: BluetoothUUID { BluetoothUUID(0x2A5D as UInt16) }
    /// The PLX Spot-Check Measurement characteristic.
    @inlinable public static var plxSpotCheckMeasurement: BluetoothUUID { BluetoothUUID(0x2A5E as UInt16) }
    /// The PLX Continuous Measurement characteristic.
    @inlinable public static var plxContinuousMeasurement: BluetoothUUID { BluetoothUUID(0x2A5F as UInt16) }
    /// The Cycling Power Measurement characteristic.
    @inlinable public static var cyclingPowerMeasurement: BluetoothUUID { BluetoothUUID(0x2A63 as UInt16) }
    /// The Cycling Power Feature characteristic.
    @inlinable public static var cyclingPowerFeature: BluetoothUUID { BluetoothUUID(0x2A65 as UInt16) }
    /// The Cycling Power Control Point characteristic.
    @inlinable public static var cyclingPowerControlPoint: BluetoothUUID { BluetoothUUID(0x2A66 as UInt16) }
    /// The Location and Speed characteristic.
    @inlinable public static var locationAndSpeed: BluetoothUUID { BluetoothUUID(0x2A67 as UInt16) }
    /// The Elevation characteristic.
    @inlinable public static var elevation: BluetoothUUID { BluetoothUUID(0x2A6C as UInt16) }
    /// The Pressure characteristic.
    @inlinable public static var pressure: BluetoothUUID { BluetoothUUID(0x2A6D as UInt16) }
    /// The Temperature characteristic.
    @inlinable public static var temperature: BluetoothUUID { BluetoothUUID(0x2A6E as UInt16) }
    /// The Humidity characteristic.
    @inlinable public static var humidity: BluetoothUUID { BluetoothUUID(0x2A6F as UInt16) }
    /// The UV Index characteristic.
    @inlinable public static var uvIndex: BluetoothUUID { BluetoothUUID(0x2A76 as UInt16) }
    /// The Body Composition Measurement characteristic.
    @inlinable public static var bodyCompositionMeasurement: BluetoothUUID { BluetoothUUID(0x2A9C as UInt16) }
    /// The Weight Measurement characteristic.
    @inlinable public static var weightMeasurement: BluetoothUUID { BluetoothUUID(0x2A9D as UInt16) }
    /// The Weight Scale Feature characteristic.
    @inlinable public static var weightScaleFeature: BluetoothUUID { BluetoothUUID(0x2A9E as UInt16) }
    /// The Central Address Resolution characteristic: whether the central resolves private addresses (Core Vol 3 Part C
    /// §12.4).
    @inlinable public static var centralAddressResolution: BluetoothUUID { BluetoothUUID(0x2AA6 as UInt16) }
    /// The Resolvable Private Address Only characteristic: whether the device uses no other addresses after bonding
    /// (Core Vol 3 Part C §12.5).
    @inlinable public static var resolvablePrivateAddressOnly: BluetoothUUID { BluetoothUUID(0x2AC9 as UInt16) }
    /// The Fitness Machine Feature characteristic.
    @inlinable public static var fitnessMachineFeature: BluetoothUUID { BluetoothUUID(0x2ACC as UInt16) }
    /// The Treadmill Data characteristic.
    @inlinable public static var treadmillData: BluetoothUUID { BluetoothUUID(0x2ACD as UInt16) }
    /// The Indoor Bike Data characteristic.
    @inlinable public static var indoorBikeData: BluetoothUUID { BluetoothUUID(0x2AD2 as UInt16) }
    /// The Fitness Machine Control Point characteristic.
    @inlinable public static var fitnessMachineControlPoint: BluetoothUUID { BluetoothUUID(0x2AD9 as UInt16) }
    /// The Fitness Machine Status characteristic.
    @inlinable public static var fitnessMachineStatus: BluetoothUUID { BluetoothUUID(0x2ADA as UInt16) }
    /// The Client Supported Features characteristic: a client may set bits and never clear them (Core Vol 3 Part G
    /// §7.2).
    @inlinable public static var clientSupportedFeatures: BluetoothUUID { BluetoothUUID(0x2B29 as UInt16) }
    /// The Database Hash characteristic: 16 bytes that change with the database (Core Vol 3 Part G §7.3).
    @inlinable public static var databaseHash: BluetoothUUID { BluetoothUUID(0x2B2A as UInt16) }
    /// The Server Supported Features characteristic (Core Vol 3 Part G §7.4).
    @inlinable public static var serverSupportedFeatures: BluetoothUUID { BluetoothUUID(0x2B3A as UInt16) }
}
