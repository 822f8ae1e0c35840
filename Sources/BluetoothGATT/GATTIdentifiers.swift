import BluetoothPrimitives

/// The attribute types of declarations (Assigned Numbers §3.5 "Declarations").
extension BluetoothUUID {
    /// Primary Service declaration; the value is the service UUID (Core Vol 3 Part G §3.1).
    public static let primaryService = BluetoothUUID(0x2800 as UInt16)
    /// Secondary Service declaration of a service that others include; the value is its UUID (Core Vol 3 Part G §3.1).
    public static let secondaryService = BluetoothUUID(0x2801 as UInt16)
    /// Include declaration (Core Vol 3 Part G §3.2).
    public static let include = BluetoothUUID(0x2802 as UInt16)
    /// Characteristic declaration: properties, value handle and UUID (Core Vol 3 Part G §3.3.1).
    public static let characteristic = BluetoothUUID(0x2803 as UInt16)
}

/// The descriptors defined by GATT (Assigned Numbers §3.7 "Descriptors").
extension BluetoothUUID {
    /// Characteristic Extended Properties (Core Vol 3 Part G §3.3.3.1).
    public static let characteristicExtendedProperties = BluetoothUUID(0x2900 as UInt16)
    /// Characteristic User Description, a UTF-8 string (Core Vol 3 Part G §3.3.3.2).
    public static let characteristicUserDescription = BluetoothUUID(0x2901 as UInt16)
    /// Client Characteristic Configuration, with a value for each client (Core Vol 3 Part G §3.3.3.3).
    public static let clientCharacteristicConfiguration = BluetoothUUID(0x2902 as UInt16)
    /// Server Characteristic Configuration, the same for all clients (Core Vol 3 Part G §3.3.3.4).
    public static let serverCharacteristicConfiguration = BluetoothUUID(0x2903 as UInt16)
    /// Characteristic Presentation Format: format, exponent and unit of the value (Core Vol 3 Part G §3.3.3.5).
    public static let characteristicPresentationFormat = BluetoothUUID(0x2904 as UInt16)
    /// Characteristic Aggregate Format: the handles of the components' presentation formats
    /// (Core Vol 3 Part G §3.3.3.6).
    public static let characteristicAggregateFormat = BluetoothUUID(0x2905 as UInt16)
}

/// The two services of every GATT server, and their characteristics.
extension BluetoothUUID {
    /// Generic Access Service: the name and appearance of the device (Core Vol 3 Part C §12).
    public static let genericAccess = BluetoothUUID(0x1800 as UInt16)
    /// Generic Attribute Service: changes of the server's database (Core Vol 3 Part G §7).
    public static let genericAttribute = BluetoothUUID(0x1801 as UInt16)

    /// Device Name, a UTF-8 string of 0 to 248 bytes (Core Vol 3 Part C §12.1).
    public static let deviceName = BluetoothUUID(0x2A00 as UInt16)
    /// Appearance, two bytes (Core Vol 3 Part C §12.2).
    public static let appearance = BluetoothUUID(0x2A01 as UInt16)
    /// Peripheral Preferred Connection Parameters: interval, latency and supervision timeout (Core Vol 3 Part C §12.3).
    public static let peripheralPreferredConnectionParameters = BluetoothUUID(0x2A04 as UInt16)
    /// Central Address Resolution: whether the central resolves private addresses (Core Vol 3 Part C §12.4).
    public static let centralAddressResolution = BluetoothUUID(0x2AA6 as UInt16)
    /// Resolvable Private Address Only: whether the device uses no other addresses after bonding
    /// (Core Vol 3 Part C §12.5).
    public static let resolvablePrivateAddressOnly = BluetoothUUID(0x2AC9 as UInt16)

    /// Service Changed, indicated with the affected handle range (Core Vol 3 Part G §7.1).
    public static let serviceChanged = BluetoothUUID(0x2A05 as UInt16)
    /// Client Supported Features; a client may set bits and never clear them (Core Vol 3 Part G §7.2).
    public static let clientSupportedFeatures = BluetoothUUID(0x2B29 as UInt16)
    /// Database Hash, 16 bytes that change with the database (Core Vol 3 Part G §7.3).
    public static let databaseHash = BluetoothUUID(0x2B2A as UInt16)
    /// Server Supported Features (Core Vol 3 Part G §7.4).
    public static let serverSupportedFeatures = BluetoothUUID(0x2B3A as UInt16)
}
