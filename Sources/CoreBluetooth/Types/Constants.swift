// Keys of options and fields. Their texts are Apple's, since some programs use them literally.

/// Whether the system alerts the user that Bluetooth is off: a Bool; without effect on Linux.
public let CBCentralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// An identifier for restoring the manager's state: a String; without effect on Linux.
public let CBCentralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"
/// Whether the program uses media devices; without effect on Linux.
public let CBCentralManagerOptionDeviceAccessForMedia: String = "kCBInitOptionDeviceAccessForMedia"

/// Whether every advertisement is reported: a Bool, false by default.
public let CBCentralManagerScanOptionAllowDuplicatesKey: String = "kCBScanOptionAllowDuplicates"
/// Services of which devices that solicit one are reported as well: `[CBUUID]`.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey: String = "kCBScanOptionSolicitedServiceUUIDs"

/// Whether the system alerts the user of the connection; without effect on Linux.
public let CBConnectPeripheralOptionNotifyOnConnectionKey: String = "kCBConnectOptionNotifyOnConnection"
/// Whether the system alerts the user of the disconnection; without effect on Linux.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey: String = "kCBConnectOptionNotifyOnDisconnection"
/// Whether the system alerts the user of notifications; without effect on Linux.
public let CBConnectPeripheralOptionNotifyOnNotificationKey: String = "kCBConnectOptionNotifyOnNotification"
/// The delay before the connection is started, in seconds: an NSNumber.
public let CBConnectPeripheralOptionStartDelayKey: String = "kCBConnectOptionStartDelay"
/// Whether Bluetooth Classic profiles follow; without effect on Linux.
public let CBConnectPeripheralOptionEnableTransportBridgingKey: String = "kCBConnectOptionEnableTransportBridging"
/// Whether the Apple Notification Center Service is required; without effect on Linux.
public let CBConnectPeripheralOptionRequiresANCS: String = "kCBConnectOptionRequiresANCS"
/// Whether a lost connection is restored automatically: a Bool, false by default.
public let CBConnectPeripheralOptionEnableAutoReconnect: String = "kCBConnectOptionEnableAutoReconnect"

/// Restored peripherals; never present on Linux.
public let CBCentralManagerRestoredStatePeripheralsKey: String = "kCBRestoredPeripherals"
/// The services of a restored scan; never present on Linux.
public let CBCentralManagerRestoredStateScanServicesKey: String = "kCBRestoredScanServices"
/// The options of a restored scan; never present on Linux.
public let CBCentralManagerRestoredStateScanOptionsKey: String = "kCBRestoredScanOptions"

/// Whether the system alerts the user that Bluetooth is off: a Bool; without effect on Linux.
public let CBPeripheralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// An identifier for restoring the manager's state: a String; without effect on Linux.
public let CBPeripheralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"
/// Restored services; never present on Linux.
public let CBPeripheralManagerRestoredStateServicesKey: String = "kCBRestoredServices"
/// The advertising data of a restored manager; never present on Linux.
public let CBPeripheralManagerRestoredStateAdvertisementDataKey: String = "kCBRestoredAdvertisement"

/// The local name: a String.
public let CBAdvertisementDataLocalNameKey: String = "kCBAdvDataLocalName"
/// Manufacturer data, beginning with the company identifier: Data.
public let CBAdvertisementDataManufacturerDataKey: String = "kCBAdvDataManufacturerData"
/// Service data: `[CBUUID: Data]`.
public let CBAdvertisementDataServiceDataKey: String = "kCBAdvDataServiceData"
/// The advertised services: `[CBUUID]`.
public let CBAdvertisementDataServiceUUIDsKey: String = "kCBAdvDataServiceUUIDs"
/// Services in Apple's overflow area: `[CBUUID]`; never present on Linux.
public let CBAdvertisementDataOverflowServiceUUIDsKey: String = "kCBAdvDataHashedServiceUUIDs"
/// The transmit power in dBm: an NSNumber.
public let CBAdvertisementDataTxPowerLevelKey: String = "kCBAdvDataTxPowerLevel"
/// Whether the device is connectable: an NSNumber, always present.
public let CBAdvertisementDataIsConnectable: String = "kCBAdvDataIsConnectable"
/// The solicited services: `[CBUUID]`.
public let CBAdvertisementDataSolicitedServiceUUIDsKey: String = "kCBAdvDataSolicitedServiceUUIDs"
