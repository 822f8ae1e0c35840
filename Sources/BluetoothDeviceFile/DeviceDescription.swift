import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives

/// A device as a file describes it: its advertisements, its attributes, and its behaviour over time.
///
/// Docs/Guide/Files.md describes the format.
package struct DeviceDescription: Hashable, Sendable {
    /// The device name.
    package var name: String?
    /// The address; nil for a random one.
    package var address: BluetoothAddress?
    /// The RSSI at which others receive it, in dBm.
    package var rssi: Int8 = -50
    /// The appearance.
    package var appearance: Appearance?
    /// The services in the default advertisement; nil for all primary ones. Only without ``advertisements``.
    package var advertisedServices: [BluetoothUUID]?
    /// The advertisements; empty for the default one, with the name and the services.
    package var advertisements: [DescribedAdvertisement] = []
    /// The services.
    package var services: [DescribedService]
    /// The origin of a recorded device.
    package var recording: DescribedRecording?

    /// A device with these services, and with a random address if there is none.
    package init(address: BluetoothAddress?, services: [DescribedService] = []) {
        self.address = address
        self.services = services
    }
}

/// The time and the length of a recording.
package struct DescribedRecording: Hashable, Sendable {
    /// The time of day of its beginning.
    package var time: String
    /// The time during which notifications were recorded.
    package var duration: Duration

    /// A recording at a time of day.
    package init(time: String, duration: Duration) {
        self.time = time
        self.duration = duration
    }
}

/// A service of a described device.
package struct DescribedService: Hashable, Sendable {
    /// The service UUID.
    package var uuid: BluetoothUUID
    /// Whether it is a primary service.
    package var isPrimary: Bool
    /// The handle of the declaration; nil for the next free one.
    package var handle: AttributeHandle?
    /// The last handle; nil for that of the last attribute.
    package var end: AttributeHandle?
    /// The included services.
    package var includes: [DescribedInclude]
    /// The characteristics.
    package var characteristics: [DescribedCharacteristic]

    /// A service with these parts.
    package init(
        _ uuid: BluetoothUUID, isPrimary: Bool = true, handle: AttributeHandle? = nil, end: AttributeHandle? = nil,
        includes: [DescribedInclude] = [], characteristics: [DescribedCharacteristic] = []
    ) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.handle = handle
        self.end = end
        self.includes = includes
        self.characteristics = characteristics
    }
}

/// A service that another includes: the first with the UUID, or the one with the handle.
package struct DescribedInclude: Hashable, Sendable {
    /// The UUID of the included service.
    package var uuid: BluetoothUUID
    /// The handle of its declaration; nil for the first service with the UUID.
    package var handle: AttributeHandle?

    /// An included service.
    package init(_ uuid: BluetoothUUID, handle: AttributeHandle? = nil) {
        self.uuid = uuid
        self.handle = handle
    }
}

/// The result of reading an attribute: its value, and the error with which the device refuses reads instead.
package struct DescribedValue: Hashable, Sendable {
    /// The value; nil if it is unknown.
    package var bytes: [UInt8]?
    /// The error of every read.
    package var error: ATTErrorCode?

    /// A value, or an error.
    package init(_ bytes: [UInt8]? = nil, error: ATTErrorCode? = nil) {
        self.bytes = bytes
        self.error = error
    }
}

/// A characteristic of a described device.
package struct DescribedCharacteristic: Hashable, Sendable {
    /// The characteristic UUID.
    package var uuid: BluetoothUUID
    /// The handle of the value; nil for the next free one.
    package var handle: AttributeHandle?
    /// The properties.
    package var properties: CharacteristicProperties
    /// The permissions; nil for those that the properties imply.
    package var permissions: AttributePermissions?
    /// The value.
    package var value: DescribedValue
    /// The descriptors, besides those that the properties require.
    package var descriptors: [DescribedDescriptor]
    /// The time between two notifications of the value, whose last byte counts up.
    package var interval: Duration?
    /// The characteristic of the same service that notifies the written values.
    package var echo: BluetoothUUID?
    /// The recorded notifications and indications, in the order of their times.
    package var notifications: [DescribedNotification] = []

    /// A characteristic with these parts.
    package init(
        _ uuid: BluetoothUUID, handle: AttributeHandle? = nil, properties: CharacteristicProperties,
        value: DescribedValue = DescribedValue(), descriptors: [DescribedDescriptor] = []
    ) {
        self.uuid = uuid
        self.handle = handle
        self.properties = properties
        self.value = value
        self.descriptors = descriptors
    }

    /// Whether its values are sent as indications, since it has no notifications.
    package var indicates: Bool { !properties.contains(.notify) && properties.contains(.indicate) }
}

/// A descriptor of a described device.
package struct DescribedDescriptor: Hashable, Sendable {
    /// The descriptor UUID.
    package var uuid: BluetoothUUID
    /// The handle; nil for the next free one.
    package var handle: AttributeHandle?
    /// The permissions; nil for reading.
    package var permissions: AttributePermissions?
    /// The value.
    package var value: DescribedValue

    /// A descriptor with these parts.
    package init(
        _ uuid: BluetoothUUID, handle: AttributeHandle? = nil, permissions: AttributePermissions? = nil,
        value: DescribedValue = DescribedValue()
    ) {
        self.uuid = uuid
        self.handle = handle
        self.permissions = permissions
        self.value = value
    }
}

/// A recorded notification or indication.
package struct DescribedNotification: Hashable, Sendable {
    /// The time after the subscription.
    package var time: Duration
    /// The value.
    package var value: [UInt8]

    /// A value sent at a time after the subscription.
    package init(after time: Duration, _ value: [UInt8]) {
        self.time = time
        self.value = value
    }
}
