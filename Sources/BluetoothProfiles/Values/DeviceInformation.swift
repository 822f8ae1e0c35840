import BluetoothPrimitives

// Device Information Service 1.1.

/// A System ID, which is unique to a device (Device Information Service §3.7).
public struct SystemID: Hashable, Sendable, FieldValue {
    /// The identifier that the manufacturer assigned, of 40 bits.
    public var manufacturerIdentifier: UInt64
    /// The Organizationally Unique Identifier of the manufacturer, of 24 bits.
    public var organizationallyUniqueIdentifier: UInt32

    /// An identifier from its parts.
    public init(manufacturerIdentifier: UInt64, organizationallyUniqueIdentifier: UInt32) {
        self.manufacturerIdentifier = manufacturerIdentifier
        self.organizationallyUniqueIdentifier = organizationallyUniqueIdentifier
    }

    static let initial = Self(manufacturerIdentifier: 0, organizationallyUniqueIdentifier: 0)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.identifier("manufacturer", &value.manufacturerIdentifier, byteCount: 5)
        try fields.identifier("organization", &value.organizationallyUniqueIdentifier, byteCount: 3)
    }
}

/// A PnP ID: the vendor, the product and its version (Device Information Service §3.9).
public struct PnPID: Hashable, Sendable, FieldValue {
    /// The registry of the vendor's identifier. An open set: switch with a default.
    public struct Source: RawRepresentable, Hashable, Sendable, CustomStringConvertible, NamedValue {
        /// The assigned value.
        public var rawValue: UInt8

        /// A registry by its assigned value.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The company identifiers of the Bluetooth SIG.
        public static let bluetoothSIG = Self(rawValue: 1)
        /// The vendor identifiers of the USB Implementers Forum.
        public static let usb = Self(rawValue: 2)

        /// The names of the registrys.
        static let names = ["Bluetooth SIG", "USB"]
        static let firstName = 1
    }

    /// The registry of ``vendor``.
    public var source: Source
    /// The identifier of the vendor.
    public var vendor: UInt16
    /// The identifier of the product, which the vendor assigned.
    public var product: UInt16
    /// The version of the product, mostly in binary-coded decimal: 0x0213 is 2.1.3.
    public var version: UInt16

    /// An identifier from its parts.
    public init(source: Source = .bluetoothSIG, vendor: UInt16, product: UInt16, version: UInt16) {
        (self.source, self.vendor, self.product, self.version) = (source, vendor, product, version)
    }

    static let initial = Self(vendor: 0, product: 0, version: 0)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.code("source", &value.source)
        try fields.identifier("vendor", &value.vendor)
        // Only one of the registries assigns company identifiers.
        if value.source == .bluetoothSIG { fields.remark(CompanyIdentifier(value.vendor).name) }
        try fields.identifier("product", &value.product)
        try fields.identifier("version", &value.version)
    }
}

extension Characteristic where Value == String {
    /// Manufacturer Name String.
    public static var manufacturerNameString: Self { text(.manufacturerNameString) }
    /// Model Number String.
    public static var modelNumberString: Self { text(.modelNumberString) }
    /// Serial Number String.
    public static var serialNumberString: Self { text(.serialNumberString) }
    /// Hardware Revision String.
    public static var hardwareRevisionString: Self { text(.hardwareRevisionString) }
    /// Firmware Revision String.
    public static var firmwareRevisionString: Self { text(.firmwareRevisionString) }
    /// Software Revision String.
    public static var softwareRevisionString: Self { text(.softwareRevisionString) }

    private static func text(_ uuid: BluetoothUUID) -> Self {
        Self(uuid, in: .deviceInformation, codec: TextCodec())
    }
}

extension Characteristic where Value == SystemID {
    /// System ID: the identity of a device.
    public static var systemID: Self { Self(.systemID, in: .deviceInformation) }
}

extension Characteristic where Value == PnPID {
    /// PnP ID: the vendor, the product and its version.
    public static var pnpID: Self { Self(.pnpID, in: .deviceInformation) }
}

extension Characteristic where Value == [UInt8] {
    /// IEEE 11073-20601 Regulatory Certification Data List, in the encoding of that standard.
    public static var regulatoryCertificationDataList: Self {
        Characteristic(0x2A2A, in: .deviceInformation, codec: BytesCodec())
    }
}
