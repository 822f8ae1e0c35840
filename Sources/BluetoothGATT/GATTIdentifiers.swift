import BluetoothPrimitives

/// The attribute types that GATT itself defines (Assigned Numbers §3.5 "Declarations").
extension BluetoothUUID {
    /// Declares a primary service; the value is the service's UUID (Core Vol 3 Part G §3.1).
    public static let primaryService = BluetoothUUID(0x2800 as UInt16)
    /// Declares a service that exists to be included by others; the value is its UUID (Core Vol 3 Part G §3.1).
    public static let secondaryService = BluetoothUUID(0x2801 as UInt16)
    /// Declares that a service includes another one (Core Vol 3 Part G §3.2).
    public static let include = BluetoothUUID(0x2802 as UInt16)
    /// Declares a characteristic: properties, value handle, UUID (Core Vol 3 Part G §3.3.1).
    public static let characteristic = BluetoothUUID(0x2803 as UInt16)
}

/// Descriptors of a characteristic (Assigned Numbers §3.7 "Descriptors").
extension BluetoothUUID {
    /// More properties of the characteristic (Core Vol 3 Part G §3.3.3.1).
    public static let characteristicExtendedProperties = BluetoothUUID(0x2900 as UInt16)
    /// UTF-8 text for people (Core Vol 3 Part G §3.3.3.2).
    public static let characteristicUserDescription = BluetoothUUID(0x2901 as UInt16)
    /// What this client wants to be sent, the CCCD (Core Vol 3 Part G §3.3.3.3).
    public static let clientCharacteristicConfiguration = BluetoothUUID(0x2902 as UInt16)
    /// Whether the server broadcasts the value, the same for all clients (Core Vol 3 Part G §3.3.3.4).
    public static let serverCharacteristicConfiguration = BluetoothUUID(0x2903 as UInt16)
    /// Format, exponent and unit of the value (Core Vol 3 Part G §3.3.3.5).
    public static let characteristicPresentationFormat = BluetoothUUID(0x2904 as UInt16)
    /// The handles of the formats that make up a composed value (Core Vol 3 Part G §3.3.3.6).
    public static let characteristicAggregateFormat = BluetoothUUID(0x2905 as UInt16)
}

/// The two services every GATT server has, and what is in them.
extension BluetoothUUID {
    /// Generic Access service: what the device is called and looks like (Core Vol 3 Part C §12).
    public static let genericAccess = BluetoothUUID(0x1800 as UInt16)
    /// Generic Attribute service: how the server's database changes (Core Vol 3 Part G §7).
    public static let genericAttribute = BluetoothUUID(0x1801 as UInt16)

    /// UTF-8, 0 to 248 bytes (Core Vol 3 Part C §12.1).
    public static let deviceName = BluetoothUUID(0x2A00 as UInt16)
    /// Two bytes: what the device looks like (Core Vol 3 Part C §12.2).
    public static let appearance = BluetoothUUID(0x2A01 as UInt16)
    /// Interval, latency and time-out the peripheral would like (Core Vol 3 Part C §12.3).
    public static let peripheralPreferredConnectionParameters = BluetoothUUID(0x2A04 as UInt16)
    /// Whether the central can resolve private addresses (Core Vol 3 Part C §12.4).
    public static let centralAddressResolution = BluetoothUUID(0x2AA6 as UInt16)
    /// Whether only resolvable private addresses are used after bonding (Core Vol 3 Part C §12.5).
    public static let resolvablePrivateAddressOnly = BluetoothUUID(0x2AC9 as UInt16)

    /// Indicated with the range of handles that changed (Core Vol 3 Part G §7.1).
    public static let serviceChanged = BluetoothUUID(0x2A05 as UInt16)
    /// What the client can do; it may set bits and never clear them (Core Vol 3 Part G §7.2).
    public static let clientSupportedFeatures = BluetoothUUID(0x2B29 as UInt16)
    /// Sixteen bytes that change whenever the database does (Core Vol 3 Part G §7.3).
    public static let databaseHash = BluetoothUUID(0x2B2A as UInt16)
    /// What the server can do (Core Vol 3 Part G §7.4).
    public static let serverSupportedFeatures = BluetoothUUID(0x2B3A as UInt16)
}
