import BluetoothLE
import BluetoothLoop
public import Foundation

/// A manager that discovers peripherals and connects to them.
//
// Sendable unchecked: the delegate is locked.
open class CBCentralManager: CBManager, @unchecked Sendable {
    /// Optional features of a machine.
    public struct Feature: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt

        /// Creates a set from its bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// Extended advertising PDUs are received, and can be connected to.
        public static let extendedScanAndConnect = Feature(rawValue: 1 << 0)
    }

    private struct Observer { weak var delegate: (any CBCentralManagerDelegate)? }
    private let observer = Locked(Observer())

    /// Creates a manager without a delegate, which calls back on the main queue.
    public convenience init() {
        self.init(delegate: nil, queue: nil, options: nil)
    }

    /// Creates a manager.
    /// - Parameters:
    ///   - delegate: the receiver of events; not retained.
    ///   - queue: the queue of the delegate's calls; nil is the main queue.
    public convenience init(delegate: (any CBCentralManagerDelegate)?, queue: dispatch_queue_t?) {
        self.init(delegate: delegate, queue: queue, options: nil)
    }

    /// Creates a manager.
    /// - Parameters:
    ///   - delegate: the receiver of events; not retained.
    ///   - queue: the queue of the delegate's calls; nil is the main queue.
    ///   - options: ignored on Linux.
    public init(
        delegate: (any CBCentralManagerDelegate)?, queue: dispatch_queue_t?, options: [String: Any]? = nil
    ) {
        super.init(manager: ())
        observer { $0.delegate = delegate }
        let manager = WeakReference(to: self)
        open(queue) { CentralHandle(manager, $0, $1, $2) }
    }

    /// The receiver of events; not retained.
    open var delegate: (any CBCentralManagerDelegate)? {
        get { observer { $0.delegate } }
        set { observer { $0.delegate = newValue } }
    }

    /// Whether the manager is scanning.
    open var isScanning: Bool { handle?.shared { $0.isScanning } ?? false }

    /// The manager's handle of the radio; nil if there is none.
    var handle: CentralHandle? { opened { $0 } as? CentralHandle }

    override func reportState() { delegate?.centralManagerDidUpdateState(self) }

    /// Whether this machine has a feature, which its controller reports when a manager is powered on; false before.
    open class func supports(_ features: CBCentralManager.Feature) -> Bool {
        features.isSubset(of: Radio.isExtended(CBLinux.configuration) ? .extendedScanAndConnect : [])
    }

    // MARK: Known peripherals

    /// Returns the peripherals with these identifiers, in this order. Identifiers that are not this library's are
    /// omitted; none are found while the manager is not powered on. A peripheral has the name that the program's managers
    /// have received before.
    open func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
        guard isReady(), let handle else { return [] }
        return identifiers.compactMap(\.bluetoothAddress).map { handle.peripheral($0) }
    }

    /// Returns the peripherals that this program is connected to, through any manager, and that have one of these
    /// services, or of which no service is known yet.
    open func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] {
        guard isReady(), let handle else { return [] }
        let wanted = Set(serviceUUIDs.map(\.bluetooth))
        let connected = handle.radio.devices.withLock { devices in
            devices.connected.filter { $0.value.isEmpty || !$0.value.isDisjoint(with: wanted) }.keys.sorted()
        }
        return connected.map { handle.peripheral($0) }
    }

    // MARK: Scanning

    /// Starts to scan, in place of a running scan.
    /// - Parameters:
    ///   - serviceUUIDs: the services of which a peripheral must advertise one; nil or an empty list for all
    ///     peripherals.
    ///   - options: ``CBCentralManagerScanOptionAllowDuplicatesKey``,
    ///     ``CBCentralManagerScanOptionSolicitedServiceUUIDsKey``.
    open func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
        guard isReady(), let handle else { return }
        let solicited = options?[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] as? [CBUUID] ?? []
        var filter = ScanFilter.any
        if let services = serviceUUIDs.uuids {
            filter = .anyOf([.services(services)] + solicited.map { .solicitedService($0.bluetooth) })
        }
        let reportsAll = flag(CBCentralManagerScanOptionAllowDuplicatesKey, in: options)
        var scanOptions = ScanOptions(filter: filter, duplicates: reportsAll ? .all : .merge)
        // Most programs use the first report alone, and its name.
        scanOptions.scanResponseTimeout = .milliseconds(100)
        handle.startScan(scanOptions)
    }

    /// Stops the scan; no peripheral is reported after it returns.
    open func stopScan() { handle?.stopScan() }

    // MARK: Connecting

    /// Connects to a peripheral, without a time limit; for a connected one, calls `didConnect` again.
    /// - Parameters:
    ///   - peripheral: the peripheral, of this manager.
    ///   - options: ``CBConnectPeripheralOptionStartDelayKey``, ``CBConnectPeripheralOptionEnableAutoReconnect``.
    open func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
        guard isReady(), let handle else { return }
        guard peripheral.handle.central === handle else {
            return misuse("\(peripheral) belongs to another manager; retrieve it by its identifier.")
        }
        var connectOptions = PeripheralConnectOptions()
        let delay = options?[CBConnectPeripheralOptionStartDelayKey]
        if let seconds = (delay as? NSNumber)?.doubleValue ?? delay as? Double, seconds > 0 {
            connectOptions.startDelay = .seconds(min(seconds, 1e6))
        }
        connectOptions.reconnects = flag(CBConnectPeripheralOptionEnableAutoReconnect, in: options)
        peripheral.handle.connect(connectOptions)
    }

    /// Ends the connection to a peripheral, or cancels the attempt. The program may release the peripheral before
    /// `didDisconnectPeripheral` is called.
    open func cancelPeripheralConnection(_ peripheral: CBPeripheral) {
        guard let handle, peripheral.handle.central === handle else {
            return misuse("\(peripheral) belongs to another manager.")
        }
        peripheral.handle.cancel(peripheral)
    }

    /// Registers for connections and disconnections of this program's peripherals, reported by
    /// ``CBCentralManagerDelegate/centralManager(_:connectionEventDidOccur:for:)``; nil ends that.
    /// - Parameter options: restricts the events to peripherals with these services, as far as they are known, or with
    ///   these identifiers.
    open func registerForConnectionEvents(options: [CBConnectionEventMatchingOption: Any]? = nil) {
        guard isReady(), let handle else { return }
        let services = options?[.serviceUUIDs] as? [CBUUID] ?? []
        let peers = options?[.peripheralUUIDs] as? [UUID] ?? []
        handle.shared {
            $0.watchedServices = Set(services.map(\.bluetooth))
            $0.watchedPeers = Set(peers)
        }
    }
}

/// The value of a Boolean option, given as a Bool or as an NSNumber.
func flag(_ key: String, in options: [String: Any]?) -> Bool {
    (options?[key] as? Bool) ?? (options?[key] as? NSNumber)?.boolValue ?? false
}
