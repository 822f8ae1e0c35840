extension BluetoothUUID {
    /// The assigned name of the UUID (Assigned Numbers §3): a service, a declaration or descriptor, or a
    /// characteristic; nil for an unassigned UUID and for one that this package does not name.
    public var assignedName: String? {
        guard let number = uint16 else { return nil }
        switch number {
        case 0x1800..<0x2700: return Self.services[number]
        case 0x2800..<0x2A00: return Self.descriptors[number]
        case 0x2A00..<0x2D00: return Self.characteristics[number]
        case 0xFE59: return "Secure DFU"
        case 0xFEAA: return "Eddystone"
        default: return nil
        }
    }

    private static let services: [UInt16: String] = [
        0x1800: "Generic Access", 0x1801: "Generic Attribute", 0x1802: "Immediate Alert", 0x1803: "Link Loss",
        0x1804: "Tx Power", 0x1805: "Current Time", 0x1806: "Reference Time Update", 0x1807: "Next DST Change",
        0x1808: "Glucose", 0x1809: "Health Thermometer", 0x180A: "Device Information", 0x180D: "Heart Rate",
        0x180E: "Phone Alert Status", 0x180F: "Battery", 0x1810: "Blood Pressure", 0x1811: "Alert Notification",
        0x1812: "Human Interface Device", 0x1813: "Scan Parameters", 0x1814: "Running Speed and Cadence",
        0x1815: "Automation IO", 0x1816: "Cycling Speed and Cadence", 0x1818: "Cycling Power",
        0x1819: "Location and Navigation", 0x181A: "Environmental Sensing", 0x181B: "Body Composition",
        0x181C: "User Data", 0x181D: "Weight Scale", 0x181E: "Bond Management", 0x181F: "Continuous Glucose Monitoring",
        0x1820: "Internet Protocol Support", 0x1821: "Indoor Positioning", 0x1822: "Pulse Oximeter",
        0x1823: "HTTP Proxy", 0x1824: "Transport Discovery", 0x1825: "Object Transfer", 0x1826: "Fitness Machine",
        0x1827: "Mesh Provisioning", 0x1828: "Mesh Proxy", 0x1829: "Reconnection Configuration",
        0x183A: "Insulin Delivery", 0x183B: "Binary Sensor", 0x183C: "Emergency Configuration",
        0x183E: "Physical Activity Monitor", 0x1843: "Audio Input Control", 0x1844: "Volume Control",
        0x1845: "Volume Offset Control", 0x1846: "Coordinated Set Identification", 0x1847: "Device Time",
        0x1848: "Media Control", 0x1849: "Generic Media Control", 0x184A: "Constant Tone Extension",
        0x184B: "Telephone Bearer", 0x184C: "Generic Telephone Bearer", 0x184D: "Microphone Control",
        0x184E: "Audio Stream Control", 0x184F: "Broadcast Audio Scan", 0x1850: "Published Audio Capabilities",
        0x1851: "Basic Audio Announcement", 0x1852: "Broadcast Audio Announcement", 0x1853: "Common Audio",
        0x1854: "Hearing Access", 0x1855: "Telephony and Media Audio", 0x1856: "Public Broadcast Announcement",
    ]

    private static let descriptors: [UInt16: String] = [
        0x2800: "Primary Service", 0x2801: "Secondary Service", 0x2802: "Include", 0x2803: "Characteristic",
        0x2900: "Characteristic Extended Properties", 0x2901: "Characteristic User Description",
        0x2902: "Client Characteristic Configuration", 0x2903: "Server Characteristic Configuration",
        0x2904: "Characteristic Presentation Format", 0x2905: "Characteristic Aggregate Format",
        0x2906: "Valid Range", 0x2907: "External Report Reference", 0x2908: "Report Reference",
        0x2909: "Number of Digitals", 0x290A: "Value Trigger Setting",
        0x290B: "Environmental Sensing Configuration", 0x290C: "Environmental Sensing Measurement",
        0x290D: "Environmental Sensing Trigger Setting", 0x290E: "Time Trigger Setting",
    ]

    private static let characteristics: [UInt16: String] = [
        0x2A00: "Device Name", 0x2A01: "Appearance", 0x2A02: "Peripheral Privacy Flag",
        0x2A03: "Reconnection Address", 0x2A04: "Peripheral Preferred Connection Parameters",
        0x2A05: "Service Changed", 0x2A06: "Alert Level", 0x2A07: "Tx Power Level", 0x2A08: "Date Time",
        0x2A09: "Day of Week", 0x2A0A: "Day Date Time", 0x2A0F: "Local Time Information",
        0x2A14: "Reference Time Information", 0x2A18: "Glucose Measurement", 0x2A19: "Battery Level",
        0x2A1C: "Temperature Measurement", 0x2A1D: "Temperature Type", 0x2A1E: "Intermediate Temperature",
        0x2A21: "Measurement Interval", 0x2A22: "Boot Keyboard Input Report", 0x2A23: "System ID",
        0x2A24: "Model Number String", 0x2A25: "Serial Number String", 0x2A26: "Firmware Revision String",
        0x2A27: "Hardware Revision String", 0x2A28: "Software Revision String", 0x2A29: "Manufacturer Name String",
        0x2A2A: "IEEE 11073-20601 Regulatory Certification Data List", 0x2A2B: "Current Time",
        0x2A31: "Scan Refresh", 0x2A32: "Boot Keyboard Output Report", 0x2A33: "Boot Mouse Input Report",
        0x2A34: "Glucose Measurement Context", 0x2A35: "Blood Pressure Measurement",
        0x2A36: "Intermediate Cuff Pressure", 0x2A37: "Heart Rate Measurement", 0x2A38: "Body Sensor Location",
        0x2A39: "Heart Rate Control Point", 0x2A3F: "Alert Status", 0x2A40: "Ringer Control Point",
        0x2A41: "Ringer Setting", 0x2A44: "Alert Notification Control Point", 0x2A45: "Unread Alert Status",
        0x2A46: "New Alert", 0x2A47: "Supported New Alert Category", 0x2A48: "Supported Unread Alert Category",
        0x2A49: "Blood Pressure Feature", 0x2A4A: "HID Information", 0x2A4B: "Report Map",
        0x2A4C: "HID Control Point", 0x2A4D: "Report", 0x2A4E: "Protocol Mode", 0x2A4F: "Scan Interval Window",
        0x2A50: "PnP ID", 0x2A51: "Glucose Feature", 0x2A52: "Record Access Control Point",
        0x2A53: "RSC Measurement", 0x2A54: "RSC Feature", 0x2A55: "SC Control Point", 0x2A5A: "Aggregate",
        0x2A5B: "CSC Measurement", 0x2A5C: "CSC Feature", 0x2A5D: "Sensor Location",
        0x2A5E: "PLX Spot-Check Measurement", 0x2A5F: "PLX Continuous Measurement", 0x2A60: "PLX Features",
        0x2A63: "Cycling Power Measurement", 0x2A64: "Cycling Power Vector", 0x2A65: "Cycling Power Feature",
        0x2A66: "Cycling Power Control Point", 0x2A67: "Location and Speed", 0x2A68: "Navigation",
        0x2A6C: "Elevation", 0x2A6D: "Pressure", 0x2A6E: "Temperature", 0x2A6F: "Humidity",
        0x2A70: "True Wind Speed", 0x2A71: "True Wind Direction", 0x2A76: "UV Index", 0x2A77: "Irradiance",
        0x2A78: "Rainfall", 0x2A79: "Wind Chill", 0x2A7A: "Heat Index", 0x2A7B: "Dew Point",
        0x2A7E: "Aerobic Heart Rate Lower Limit", 0x2A80: "Age", 0x2A85: "Date of Birth", 0x2A87: "Email Address",
        0x2A8A: "First Name", 0x2A8C: "Gender", 0x2A8E: "Height", 0x2A90: "Last Name",
        0x2A98: "Weight", 0x2A99: "Database Change Increment", 0x2A9A: "User Index", 0x2A9B: "Body Composition Feature",
        0x2A9C: "Body Composition Measurement", 0x2A9D: "Weight Measurement", 0x2A9E: "Weight Scale Feature",
        0x2A9F: "User Control Point", 0x2AA6: "Central Address Resolution", 0x2AA7: "CGM Measurement",
        0x2AC9: "Resolvable Private Address Only", 0x2ACC: "Fitness Machine Feature", 0x2ACD: "Treadmill Data",
        0x2AD2: "Indoor Bike Data", 0x2AD9: "Fitness Machine Control Point", 0x2ADA: "Fitness Machine Status",
        0x2ADB: "Mesh Provisioning Data In", 0x2ADC: "Mesh Provisioning Data Out", 0x2ADD: "Mesh Proxy Data In",
        0x2ADE: "Mesh Proxy Data Out", 0x2B29: "Client Supported Features", 0x2B2A: "Database Hash",
        0x2B3A: "Server Supported Features",
    ]
}
