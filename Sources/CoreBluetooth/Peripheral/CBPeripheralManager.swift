import BluetoothLE
import BluetoothLoop
public import Foundation

/// A manager that publishes services to centrals.
///
/// On Linux a long read is one request for the whole value, with an offset of zero.
//
// Sendable unchecked: the delegate is locked.
open class CBPeripheralManager: CBManager, @unchecked Sendable {
    private struct Observer { weak var delegate: (any CBPeripheralManagerDelegate)? }
    private let observer = Locked(Observer())

    /// Creates a manager without a delegate, which calls back on the main queue.
    public convenience init() {
        self.init(delegate: nil, queue: nil, options: nil)
    }

    /// Creates a manager.
    /// - Parameters:
    ///   - delegate: the receiver of events; not retained.
    ///   - queue: the queue of the delegate's calls; nil is the main queue.
    public convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: dispatch_queue_t?) {
        self.init(delegate: delegate, queue: queue, options: nil)
    }

    /// Creates a manager.
    /// - Parameters:
    ///   - delegate: the receiver of events; not retained.
    ///   - queue: the queue of the delegate's calls; nil is the main queue.
    ///   - options: ignored on Linux.
    public init(
        delegate: (any CBPeripheralManagerDelegate)?, queue: dispatch_queue_t?, options: [String: Any]? = nil
    ) {
        super.init(manager: ())
        observer { $0.delegate = delegate }
        let manager = WeakReference(to: self)
        open(queue) { radio, callbacks, _ in PeripheralManagerHandle(manager, radio, callbacks) }
    }

    /// The receiver of events; not retained.
    open var delegate: (any CBPeripheralManagerDelegate)? {
        get { observer { $0.delegate } }
        set { observer { $0.delegate = newValue } }
    }

    /// Whether the manager is advertising.
    open var isAdvertising: Bool { handle?.shared { $0.advertising.isOn } ?? false }

    /// The manager's handle of the radio; nil if there is none.
    var handle: PeripheralManagerHandle? { opened { $0 } as? PeripheralManagerHandle }

    override func reportState() { delegate?.peripheralManagerDidUpdateState(self) }

    /// The permission to share data by Bluetooth: Linux asks no user, so it is granted.
    open class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus { .authorized }

    // MARK: Advertising

    /// Starts to advertise; the delegate is called when advertising has started.
    /// - Parameter advertisementData: ``CBAdvertisementDataLocalNameKey`` and ``CBAdvertisementDataServiceUUIDsKey``.
    open func startAdvertising(_ advertisementData: [String: Any]?) {
        guard isReady() else { return }
        let name = advertisementData?[CBAdvertisementDataLocalNameKey] as? String
        let services = advertisementData?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID]
        let known = [CBAdvertisementDataLocalNameKey, CBAdvertisementDataServiceUUIDsKey]
        for key in advertisementData?.keys.sorted() ?? [] where !known.contains(key) {
            misuse("\(key) is not advertised, as it is not on Apple's systems.")
        }
        handle?.startAdvertising(name: name, services: services?.map(\.bluetooth) ?? [])
    }

    /// Stops advertising.
    open func stopAdvertising() { handle?.stopAdvertising() }

    /// Requests a connection latency for a central, which decides: the connection interval requested is 7.5 to 15 ms,
    /// 30 to 50 ms, or 100 to 125 ms. Needs CAP_NET_RAW.
    open func setDesiredConnectionLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) {
        guard isReady() else { return }
        if handle?.setLatency(latency, for: central) != true {
            misuse("setDesiredConnectionLatency(_:for:) has no effect: \(central) is not connected.")
        }
    }

    // MARK: Services

    /// Publishes a service; the delegate is called when centrals can discover it.
    open func add(_ service: CBMutableService) {
        guard isReady() else { return }
        handle?.add(service)
    }

    /// Removes a published service; one that is not published is ignored.
    open func remove(_ service: CBMutableService) {
        handle?.removeServices { $0 === service }
    }

    /// Removes all published services.
    open func removeAllServices() {
        handle?.removeServices { _ in true }
    }

    // MARK: Values

    /// Answers a request; of several that were delivered together, the first is answered for all.
    /// - Parameters:
    ///   - request: the request. For a read, its `value` is the response.
    ///   - result: `.success`, or the error of the response.
    open func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
        // A program can create codes of any number.
        let code = UInt8(exactly: result.rawValue) ?? ATTErrorCode.unlikelyError.rawValue
        let answer: Result<[UInt8], ATTErrorCode> =
            code == 0 ? .success(Array(request.value ?? Data())) : .failure(ATTErrorCode(code))
        if request.question?.resolve(answer) == false { misuse("a request was answered twice, or too late.") }
    }

    /// Sends a value to subscribed centrals.
    /// - Returns: false when it was not sent because of congestion: the delegate is called when to try again.
    open func updateValue(
        _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
    ) -> Bool {
        guard isReady() else { return false }
        return handle?.update(Array(value), of: characteristic, for: centrals) ?? false
    }

    // MARK: Channels

    /// Publishes an L2CAP channel with a PSM that the system assigns.
    open func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
        guard isReady() else { return }
        handle?.publishChannel(isEncrypted: encryptionRequired)
    }

    /// Unpublishes an L2CAP channel.
    open func unpublishL2CAPChannel(_ PSM: CBL2CAPPSM) {
        handle?.unpublishChannel(PSM)
    }
}
