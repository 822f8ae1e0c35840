import CoreBluetooth
import Testing

// Code that apps write around the API: seams for their tests, extensions, subclasses, conversions. Most of it must only
// compile.

// MARK: Seams

protocol PeripheralType: AnyObject {
    var identifier: UUID { get }
    var name: String? { get }
    var state: CBPeripheralState { get }
    var services: [CBService]? { get }
    var delegate: CBPeripheralDelegate? { get set }
    var canSendWriteWithoutResponse: Bool { get }
    func readRSSI()
    func discoverServices(_ serviceUUIDs: [CBUUID]?)
    func discoverIncludedServices(_ includedServiceUUIDs: [CBUUID]?, for service: CBService)
    func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService)
    func discoverDescriptors(for characteristic: CBCharacteristic)
    func readValue(for characteristic: CBCharacteristic)
    func readValue(for descriptor: CBDescriptor)
    func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType)
    func writeValue(_ data: Data, for descriptor: CBDescriptor)
    func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic)
    func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int
    func openL2CAPChannel(_ PSM: CBL2CAPPSM)
}

protocol CentralManagerType: AnyObject {
    var state: CBManagerState { get }
    var isScanning: Bool { get }
    var delegate: CBCentralManagerDelegate? { get set }
    func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]?)
    func stopScan()
    func connect(_ peripheral: CBPeripheral, options: [String: Any]?)
    func cancelPeripheralConnection(_ peripheral: CBPeripheral)
    func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral]
    func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral]
}

protocol CharacteristicType {
    var uuid: CBUUID { get }
    var service: CBService? { get }
    var properties: CBCharacteristicProperties { get }
    var value: Data? { get }
    var descriptors: [CBDescriptor]? { get }
    var isNotifying: Bool { get }
}

protocol PeripheralManagerType: AnyObject {
    var isAdvertising: Bool { get }
    var delegate: CBPeripheralManagerDelegate? { get set }
    func startAdvertising(_ advertisementData: [String: Any]?)
    func stopAdvertising()
    func add(_ service: CBMutableService)
    func remove(_ service: CBMutableService)
    func removeAllServices()
    func respond(to request: CBATTRequest, withResult result: CBATTError.Code)
    func updateValue(
        _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
    ) -> Bool
}

protocol OwnedType {
    var peripheral: CBPeripheral? { get }
}

protocol DescriptorType {
    var characteristic: CBCharacteristic? { get }
    var value: Any? { get }
}

extension CBService: OwnedType {}
extension CBDescriptor: DescriptorType {}
extension CBPeripheral: PeripheralType {}
extension CBCentralManager: CentralManagerType {}
extension CBCharacteristic: CharacteristicType {}
extension CBPeripheralManager: PeripheralManagerType {}

/// A seam that crosses actors.
protocol SendableType: AnyObject, Sendable {
    var identifier: UUID { get }
}

extension CBPeripheral: SendableType {}
extension CBCentral: SendableType {}

// MARK: Extensions

extension CBUUID {
    static let heartRate = CBUUID(string: "180D")
}

extension CBManagerState {
    var text: String {
        switch self {
        case .unknown: return "unknown"
        case .resetting: return "resetting"
        case .unsupported: return "unsupported"
        case .unauthorized: return "unauthorized"
        case .poweredOff: return "off"
        case .poweredOn: return "on"
        @unknown default: return "?"
        }
    }
}

extension CBCharacteristicProperties {
    var texts: [String] {
        let all: [(CBCharacteristicProperties, String)] = [(.read, "read"), (.notify, "notify"), (.write, "write")]
        return all.filter { contains($0.0) }.map(\.1)
    }
}

extension CBPeripheral {
    var displayName: String { name ?? "Unnamed" }
}

// MARK: Subclasses and screens

private final class SafeCentralManager: CBCentralManager, @unchecked Sendable {
    var wishes = 0
    override init(delegate: CBCentralManagerDelegate?, queue: DispatchQueue?, options: [String: Any]? = nil) {
        super.init(delegate: delegate, queue: queue, options: options)
    }
    override func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
        wishes += 1
        super.scanForPeripherals(withServices: serviceUUIDs, options: options)
    }
}

@MainActor
private final class Screen: NSObject {
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    var central: CBCentralManager!
    var connected: CBPeripheral?
    var found = Set<CBPeripheral>()
    var strengths: [CBPeripheral: NSNumber] = [:]
    var order: [CBPeripheral] = []
    lazy var peripheralManager = CBPeripheralManager(
        delegate: nil, queue: .main, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "peripheral"])

    func start() {
        central = CBCentralManager(
            delegate: self, queue: .main,
            options: [
                CBCentralManagerOptionShowPowerAlertKey: true, CBCentralManagerOptionRestoreIdentifierKey: "central",
            ])
    }
}

extension Screen: @preconcurrency CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard case .poweredOn = central.state else { return }
        central.scanForPeripherals(
            withServices: [.heartRate], options: [CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: true)])
    }

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        if let kept = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] { order += kept }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard (advertisementData[CBAdvertisementDataIsConnectable] as? Bool) ?? false,
            (advertisementData[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue == true,
            RSSI.intValue < 0, RSSI != 127
        else { return }
        let services = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
        let data = advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data
        let extra = advertisementData[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data]
        let power = advertisementData[CBAdvertisementDataTxPowerLevelKey] as? Int
        guard services.contains(.heartRate), data?.count != 0, extra?[.heartRate] == nil, power != 200 else { return }
        if found.insert(peripheral).inserted { order.append(peripheral) }
        strengths[peripheral] = RSSI
        if let index = order.firstIndex(of: peripheral) { order[index].delegate = nil }
        connected = peripheral
        central.stopScan()
        central.connect(peripheral, options: nil)
    }

    func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
        if let error = error as? CBError, error.code == .connectionTimeout || error.code == .peripheralDisconnected {
            central.connect(peripheral)
        }
        if let error = error as NSError?, error.domain == CBErrorDomain,
            error.code == CBError.Code.encryptionTimedOut.rawValue
        {
            connected = nil
        }
        switch error {
        case CBError.connectionFailed?: break
        case let error as CBATTError where error.code == .insufficientAuthentication: print(error)
        case .some(let error): print(error.localizedDescription)
        case .none: break
        }
    }
}

@Suite struct IdiomTests {
    @Test func identity() {
        let heartRate: CBUUID = .heartRate
        switch heartRate {
        case CBUUID(string: "0000180D-0000-1000-8000-00805F9B34FB"): break
        default: Issue.record("the long form is another UUID")
        }
        #expect([heartRate: 1][CBUUID(data: Data([0x18, 0x0D]))] == 1)
        #expect(CBManagerState.poweredOn.text == "on")
        #expect(CBManagerState(rawValue: 5) == .poweredOn)
        let properties: CBCharacteristicProperties = [.read, .notify]
        #expect(properties.texts == ["read", "notify"])
        #expect("\(CBManagerState.poweredOff)" == "poweredOff")
    }

    @Test func timesAndPlaceholders() throws {
        var serviceUUID = CBUUID()
        let timeout: CFTimeInterval = 5
        let start = CFAbsoluteTimeGetCurrent()
        let deadline: CFAbsoluteTime = start + timeout
        #expect(deadline - start == timeout)
        #expect(abs(start - Date().timeIntervalSinceReferenceDate) < 60)
        #expect(serviceUUID != .heartRate)
        serviceUUID = .heartRate
        #expect(serviceUUID == .heartRate)
    }

    @Test func subclasses() {
        let manager = SafeCentralManager(delegate: nil, queue: DispatchQueue(label: "any"))
        #expect((manager as CentralManagerType).isScanning == false)
        manager.scanForPeripherals(withServices: nil)
        #expect(manager.wishes == 1)
        #expect(manager.retrievePeripherals(withIdentifiers: [UUID()]).isEmpty)
    }

    @Test func whatIsOffered() {
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(string: "2A37"), properties: [.notify, .read], value: nil, permissions: [.readable])
        characteristic.descriptors = [
            CBMutableDescriptor(type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "Rate")
        ]
        let service = CBMutableService(type: .heartRate, primary: true)
        service.characteristics = [characteristic]
        #expect(characteristic.service === service)
        #expect((characteristic as CharacteristicType).service === service)
        #expect((characteristic.descriptors?.first as DescriptorType?)?.characteristic === characteristic)
        #expect((service as OwnedType).peripheral == nil)
        #expect(characteristic.descriptors?.first?.value as? String == "Rate")
        #expect((characteristic.descriptors?.first?.value as? NSString)?.length == 4)
        #expect(service.characteristics?.first(where: { $0.uuid == CBUUID(string: "2A37") }) is CBMutableCharacteristic)
        #expect(characteristic.subscribedCentrals?.isEmpty ?? true)
        service.characteristics = nil
        #expect(service.characteristics == nil)
        let error: Error = CBATTError(.insufficientEncryption)
        #expect((error as NSError).domain == CBATTErrorDomain && (error as NSError).code == 15)
        do {
            throw CBError(.connectionTimeout, userInfo: ["key": 1])
        } catch CBError.connectionTimeout {
        } catch {
            Issue.record(error)
        }
    }
}
