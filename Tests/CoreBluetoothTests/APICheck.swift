import CoreBluetooth
import Testing

// Declarations of Core Bluetooth, used as programs for Apple's systems use them. A missing one does not compile; one with
// another value fails. The methods of the delegates are those that the other tests' programs implement; the seams of
// IdiomTests have the other members with their types.

/// Implements only the required methods.
private final class Required: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, CBPeripheralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
}

/// A delegate on the main actor, like views and view models.
@MainActor private final class OnMainActor: NSObject, @preconcurrency CBCentralManagerDelegate {
    var state = CBManagerState.unknown
    func centralManagerDidUpdateState(_ central: CBCentralManager) { state = central.state }
}

@MainActor private final class Nonisolated: NSObject, CBPeripheralDelegate {
    private var value = Data()
    nonisolated func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard let new = characteristic.value else { return }
        MainActor.assumeIsolated { value = new }
    }
}

/// A program's own protocols may inherit Sendable, and its tasks may pass the objects on.
private protocol Wrapped: AnyObject, Sendable {}
extension CBManager: Wrapped {}
extension CBPeripheral: Wrapped {}
extension CBCentral: Wrapped {}
extension CBAttribute: Wrapped {}
extension CBATTRequest: Wrapped {}
extension CBL2CAPChannel: Wrapped {}

private func passOn(_ peripheral: CBPeripheral, _ value: CBMutableCharacteristic, _ manager: CBPeripheralManager) {
    Task.detached {
        peripheral.readRSSI()
        _ = manager.updateValue(Data(), for: value, onSubscribedCentrals: nil)
    }
}

/// The classes are open.
private final class OwnManager: CBCentralManager, @unchecked Sendable {
    var count = 0
    override func stopScan() {
        count += 1
        super.stopScan()
    }
}

private func centralManager(_ manager: CBCentralManager, _ peripheral: CBPeripheral) {
    let _: CBManagerAuthorization = manager.authorization
    let _: CBManagerAuthorization = CBManager.authorization
    let _: CBManagerAuthorization = CBCentralManager.authorization
    let _: Bool = CBCentralManager.supports(.extendedScanAndConnect)
    let _: Bool = CBCentralManager.supports([.extendedScanAndConnect])
    manager.scanForPeripherals(withServices: nil)
    manager.scanForPeripherals(
        withServices: [CBUUID(string: "180D")],
        options: [
            CBCentralManagerScanOptionAllowDuplicatesKey: true,
            CBCentralManagerScanOptionSolicitedServiceUUIDsKey: [CBUUID(string: "1805")],
        ])
    manager.scanForPeripherals(
        withServices: [], options: [CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: true)])
    manager.connect(peripheral)
    manager.registerForConnectionEvents()
    manager.registerForConnectionEvents(options: [.serviceUUIDs: [CBUUID](), .peripheralUUIDs: [UUID]()])
}

private func peripheral(
    _ peripheral: CBPeripheral, _ service: CBService, _ characteristic: CBCharacteristic, _ descriptor: CBDescriptor
) {
    let _: UUID = (peripheral as CBPeer).identifier
    let _: NSNumber? = peripheral.rssi
    let _: Bool = peripheral.ancsAuthorized

    let _: CBUUID = (service as CBAttribute).uuid
    let _: UUID? = service.peripheral?.identifier
    let _: Bool = service.isPrimary
    let _: [CBService]? = service.includedServices
    let _: [CBCharacteristic]? = service.characteristics
    let _: CBUUID? = characteristic.service?.peripheral?.services?.first?.uuid
    if let service = characteristic.service { _ = service.uuid }
    let _: Bool = characteristic.isBroadcasted
    guard let owner = descriptor.characteristic else { return }
    _ = owner.uuid.uuidString == descriptor.uuid.uuidString
    // Code from before the back references were optional.
    let _: CBUUID = descriptor.characteristic.uuid
}

private func peripheralManager(
    _ manager: CBPeripheralManager, _ central: CBCentral, _ request: CBATTRequest, _ channel: CBL2CAPChannel
) {
    let _: CBPeripheralManagerAuthorizationStatus = CBPeripheralManager.authorizationStatus()
    manager.startAdvertising(nil)
    manager.startAdvertising([CBAdvertisementDataLocalNameKey: "x", CBAdvertisementDataServiceUUIDsKey: [CBUUID]()])
    manager.setDesiredConnectionLatency(.low, for: central)
    let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
    let characteristic = CBMutableCharacteristic(
        type: CBUUID(string: "2A37"), properties: [.notify, .read], value: nil, permissions: [.readable])
    let descriptor = CBMutableDescriptor(type: CBUUID(string: "2901"), value: "x")
    characteristic.properties.insert(.write)
    characteristic.permissions.insert(.writeable)
    characteristic.value = Data()
    characteristic.descriptors = [descriptor]
    let _: [CBCentral]? = characteristic.subscribedCentrals
    service.characteristics = [characteristic]
    service.includedServices = [service]
    manager.add(service)
    manager.respond(to: request, withResult: .success)
    manager.respond(to: request, withResult: CBATTError.readNotPermitted)
    if let own = CBATTError.Code(rawValue: 0x81) { manager.respond(to: request, withResult: own) }
    let _: Bool = manager.updateValue(Data(), for: characteristic, onSubscribedCentrals: nil)
    manager.publishL2CAPChannel(withEncryption: true)
    manager.unpublishL2CAPChannel(0x80)

    let _: UUID = central.identifier
    let _: Int = central.maximumUpdateValueLength
    let _: CBCentral = request.central
    let _: CBCharacteristic = request.characteristic
    let _: Int = request.offset
    request.value = request.value?.subdata(in: 0..<1)
    let _: CBPeer? = channel.peer
    let _: InputStream? = channel.inputStream
    let _: OutputStream? = channel.outputStream
    channel.inputStream.open()
    let _: CBL2CAPPSM = channel.psm
}

@Suite struct APICheck {
    @Test func everyDeclarationIsThere() {
        _ = [centralManager as Any, peripheral as Any, peripheralManager as Any]
        _ = [Required.self, OnMainActor.self, Nonisolated.self, OwnManager.self] as [Any]
        let managers: [(any CBCentralManagerDelegate, dispatch_queue_t?) -> CBCentralManager] = [
            { CBCentralManager(delegate: $0, queue: $1) }, { CBCentralManager(delegate: $0, queue: $1, options: nil) },
            { _, _ in CBCentralManager() },
        ]
        let others: [(any CBPeripheralManagerDelegate, dispatch_queue_t?) -> CBPeripheralManager] = [
            { CBPeripheralManager(delegate: $0, queue: $1) },
            { CBPeripheralManager(delegate: $0, queue: $1, options: nil) }, { _, _ in CBPeripheralManager() },
        ]
        #expect(managers.count + others.count == 6)
    }

    @Test func rawValues() {
        let states: [CBManagerState] = [.unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn]
        #expect(states.map(\.rawValue) == Array(0...5))
        #expect(CBManagerState.poweredOff.rawValue < CBManagerState.poweredOn.rawValue)
        let old: [CBCentralManagerState] = [
            .unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn,
        ]
        #expect(old.map(\.rawValue) == Array(0...5))
        let other: [CBPeripheralManagerState] = [
            .unknown, .resetting, .unsupported, .unauthorized, .poweredOff, .poweredOn,
        ]
        #expect(other.map(\.rawValue) == Array(0...5))
        let authorizations: [CBManagerAuthorization] = [.notDetermined, .restricted, .denied, .allowedAlways]
        #expect(authorizations.map(\.rawValue) == Array(0...3))
        let statuses: [CBPeripheralManagerAuthorizationStatus] = [.notDetermined, .restricted, .denied, .authorized]
        #expect(statuses.map(\.rawValue) == Array(0...3))
        let peripherals: [CBPeripheralState] = [.disconnected, .connecting, .connected, .disconnecting]
        #expect(peripherals.map(\.rawValue) == Array(0...3))
        #expect([CBCharacteristicWriteType.withResponse, .withoutResponse].map(\.rawValue) == [0, 1])
        #expect([CBConnectionEvent.peerDisconnected, .peerConnected].map(\.rawValue) == [0, 1])
        #expect([CBPeripheralManagerConnectionLatency.low, .medium, .high].map(\.rawValue) == [0, 1, 2])
        let properties: [CBCharacteristicProperties] = [
            .broadcast, .read, .writeWithoutResponse, .write, .notify, .indicate, .authenticatedSignedWrites,
            .extendedProperties, .notifyEncryptionRequired, .indicateEncryptionRequired,
        ]
        #expect(properties.map(\.rawValue) == (0..<10).map { 1 << UInt($0) })
        let permissions: [CBAttributePermissions] = [
            .readable, .writeable, .readEncryptionRequired, .writeEncryptionRequired,
        ]
        #expect(permissions.map(\.rawValue) == [1, 2, 4, 8])
        #expect(CBCentralManager.Feature.extendedScanAndConnect.rawValue == 1)
    }

    @Test func errorCodes() {
        let codes: [CBError.Code] = [
            .unknown, .invalidParameters, .invalidHandle, .notConnected, .outOfSpace, .operationCancelled,
            .connectionTimeout, .peripheralDisconnected, .uuidNotAllowed, .alreadyAdvertising, .connectionFailed,
            .connectionLimitReached, .unknownDevice, .operationNotSupported, .peerRemovedPairingInformation,
            .encryptionTimedOut, .tooManyLEPairedDevices, .leGattExceededBackgroundNotificationLimit,
            .leGattNearBackgroundNotificationLimit,
        ]
        #expect(codes.map(\.rawValue) == Array(0...18))
        let static0: [CBError.Code] = [
            CBError.unknown, CBError.invalidParameters, CBError.invalidHandle, CBError.notConnected,
            CBError.outOfSpace, CBError.operationCancelled, CBError.connectionTimeout, CBError.peripheralDisconnected,
            CBError.uuidNotAllowed, CBError.alreadyAdvertising, CBError.connectionFailed,
            CBError.connectionLimitReached, CBError.unknownDevice, CBError.operationNotSupported,
            CBError.peerRemovedPairingInformation, CBError.encryptionTimedOut, CBError.tooManyLEPairedDevices,
            CBError.leGattExceededBackgroundNotificationLimit, CBError.leGattNearBackgroundNotificationLimit,
        ]
        #expect(static0 == codes)
        #expect(CBError.unkownDevice == CBError.unknownDevice)
        let refusals: [CBATTError.Code] = [
            .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu, .insufficientAuthentication,
            .requestNotSupported, .invalidOffset, .insufficientAuthorization, .prepareQueueFull, .attributeNotFound,
            .attributeNotLong, .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError,
            .insufficientEncryption, .unsupportedGroupType, .insufficientResources,
        ]
        #expect(refusals.map(\.rawValue) == Array(0...17))
        let static1: [CBATTError.Code] = [
            CBATTError.success, CBATTError.invalidHandle, CBATTError.readNotPermitted, CBATTError.writeNotPermitted,
            CBATTError.invalidPdu, CBATTError.insufficientAuthentication, CBATTError.requestNotSupported,
            CBATTError.invalidOffset, CBATTError.insufficientAuthorization, CBATTError.prepareQueueFull,
            CBATTError.attributeNotFound, CBATTError.attributeNotLong, CBATTError.insufficientEncryptionKeySize,
            CBATTError.invalidAttributeValueLength, CBATTError.unlikelyError, CBATTError.insufficientEncryption,
            CBATTError.unsupportedGroupType, CBATTError.insufficientResources,
        ]
        #expect(static1 == refusals)
        #expect(CBError.errorDomain == CBErrorDomain)
        #expect(CBATTError.errorDomain == CBATTErrorDomain)
        #expect(CBErrorDomain == "CBErrorDomain" && CBATTErrorDomain == "CBATTErrorDomain")
        #expect(CBError(.notConnected, userInfo: ["a": 1]).userInfo["a"] as? Int == 1)
        #expect(CBError(.notConnected).errorCode == 3)
        #expect(CBATTError(.unlikelyError).errorUserInfo[NSLocalizedDescriptionKey] != nil)
    }

    @Test func names() {
        let names: [(String, String)] = [
            (CBCentralManagerOptionShowPowerAlertKey, "kCBInitOptionShowPowerAlert"),
            (CBCentralManagerOptionRestoreIdentifierKey, "kCBInitOptionRestoreIdentifier"),
            (CBCentralManagerOptionDeviceAccessForMedia, "kCBInitOptionDeviceAccessForMedia"),
            (CBCentralManagerScanOptionAllowDuplicatesKey, "kCBScanOptionAllowDuplicates"),
            (CBCentralManagerScanOptionSolicitedServiceUUIDsKey, "kCBScanOptionSolicitedServiceUUIDs"),
            (CBConnectPeripheralOptionNotifyOnConnectionKey, "kCBConnectOptionNotifyOnConnection"),
            (CBConnectPeripheralOptionNotifyOnDisconnectionKey, "kCBConnectOptionNotifyOnDisconnection"),
            (CBConnectPeripheralOptionNotifyOnNotificationKey, "kCBConnectOptionNotifyOnNotification"),
            (CBConnectPeripheralOptionStartDelayKey, "kCBConnectOptionStartDelay"),
            (CBConnectPeripheralOptionEnableTransportBridgingKey, "kCBConnectOptionEnableTransportBridging"),
            (CBConnectPeripheralOptionRequiresANCS, "kCBConnectOptionRequiresANCS"),
            (CBConnectPeripheralOptionEnableAutoReconnect, "kCBConnectOptionEnableAutoReconnect"),
            (CBCentralManagerRestoredStatePeripheralsKey, "kCBRestoredPeripherals"),
            (CBCentralManagerRestoredStateScanServicesKey, "kCBRestoredScanServices"),
            (CBCentralManagerRestoredStateScanOptionsKey, "kCBRestoredScanOptions"),
            (CBPeripheralManagerOptionShowPowerAlertKey, "kCBInitOptionShowPowerAlert"),
            (CBPeripheralManagerOptionRestoreIdentifierKey, "kCBInitOptionRestoreIdentifier"),
            (CBPeripheralManagerRestoredStateServicesKey, "kCBRestoredServices"),
            (CBPeripheralManagerRestoredStateAdvertisementDataKey, "kCBRestoredAdvertisement"),
            (CBAdvertisementDataLocalNameKey, "kCBAdvDataLocalName"),
            (CBAdvertisementDataManufacturerDataKey, "kCBAdvDataManufacturerData"),
            (CBAdvertisementDataServiceDataKey, "kCBAdvDataServiceData"),
            (CBAdvertisementDataServiceUUIDsKey, "kCBAdvDataServiceUUIDs"),
            (CBAdvertisementDataOverflowServiceUUIDsKey, "kCBAdvDataHashedServiceUUIDs"),
            (CBAdvertisementDataTxPowerLevelKey, "kCBAdvDataTxPowerLevel"),
            (CBAdvertisementDataIsConnectable, "kCBAdvDataIsConnectable"),
            (CBAdvertisementDataSolicitedServiceUUIDsKey, "kCBAdvDataSolicitedServiceUUIDs"),
            (CBUUIDCharacteristicExtendedPropertiesString, "2900"),
            (CBUUIDCharacteristicUserDescriptionString, "2901"),
            (CBUUIDClientCharacteristicConfigurationString, "2902"),
            (CBUUIDServerCharacteristicConfigurationString, "2903"),
            (CBUUIDCharacteristicFormatString, "2904"),
            (CBUUIDCharacteristicAggregateFormatString, "2905"),
            (CBUUIDCharacteristicValidRangeString, "2906"),
            (CBUUIDCharacteristicObservationScheduleString, "2910"),
            (CBUUIDL2CAPPSMCharacteristicString, "ABDD3056-28FA-441D-A470-55A75A52553A"),
            (CBConnectionEventMatchingOption.serviceUUIDs.rawValue, "kCBConnectionEventMatchingOptionServiceUUIDs"),
            (
                CBConnectionEventMatchingOption.peripheralUUIDs.rawValue,
                "kCBConnectionEventMatchingOptionPeripheralUUIDs"
            ),
        ]
        for (name, text) in names { #expect(name == text) }
        #expect(CBConnectionEventMatchingOption(rawValue: "x") != .serviceUUIDs)
    }
}
