import BluetoothLE
public import Foundation

/// Offers services to centrals.
///
/// A long read is one request for the whole value here, with an offset of zero.
open class CBPeripheralManager: CBManager {
    private let observer = Locked(WeakDelegate<any CBPeripheralManagerDelegate>())
    private let locked = Locked<PeripheralManagerHandle?>(nil)

    /// A manager without a delegate, which calls back on the main queue.
    public convenience init() {
        self.init(delegate: nil, queue: nil, options: nil)
    }

    /// A manager.
    /// - Parameters:
    ///   - delegate: who is told what happens; not kept alive.
    ///   - queue: where it is told; nil is the main queue.
    public convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: dispatch_queue_t?) {
        self.init(delegate: delegate, queue: queue, options: nil)
    }

    /// A manager.
    /// - Parameters:
    ///   - delegate: who is told what happens; not kept alive.
    ///   - queue: where it is told; nil is the main queue.
    ///   - options: none has an effect here.
    public init(
        delegate: (any CBPeripheralManagerDelegate)?, queue: dispatch_queue_t?, options: [String: Any]? = nil
    ) {
        super.init(manager: ())
        observer { $0.delegate = delegate }
        let configuration = CBLinux.configuration
        let callbacks = CallbackQueue(queue, hold: configuration.hold)
        do throws(BluetoothError) {
            let radio = try Radio.shared(configuration, log: coreBluetoothLog)
            let made = PeripheralManagerHandle(WeakReference(self), radio, callbacks)
            locked { $0 = made }
            made.begin()
        } catch {
            coreBluetoothLog.error("\(error)")
            let manager = WeakReference(self)
            callbacks.post {
                guard let manager = manager.object else { return }
                manager.shared { $0 = .unsupported }
                manager.delegate?.peripheralManagerDidUpdateState(manager)
            }
        }
    }

    deinit {
        handle?.close()
    }

    /// Who is told what happens; not kept alive.
    open var delegate: (any CBPeripheralManagerDelegate)? {
        get { observer { $0.delegate } }
        set { observer { $0.delegate = newValue } }
    }

    /// Whether it advertises.
    open var isAdvertising: Bool { handle?.shared { $0.advertising.isOn } ?? false }

    /// What the manager has to do with the radio; nil when there is none.
    var handle: PeripheralManagerHandle? { locked { $0 } }

    /// Whether programs may share data by Bluetooth: nobody is asked on Linux, so they may.
    open class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus { .authorized }

    // MARK: Advertising

    /// Begins to advertise; the delegate is told when it has begun.
    /// - Parameter advertisementData: ``CBAdvertisementDataLocalNameKey`` and ``CBAdvertisementDataServiceUUIDsKey``.
    open func startAdvertising(_ advertisementData: [String: Any]?) {
        guard isReady(for: "startAdvertising(_:)") else { return }
        let name = advertisementData?[CBAdvertisementDataLocalNameKey] as? String
        let services = advertisementData?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID]
        let known = [CBAdvertisementDataLocalNameKey, CBAdvertisementDataServiceUUIDsKey]
        for key in advertisementData?.keys.sorted() ?? [] where !known.contains(key) {
            misuse("\(key) is not advertised, as it is not on Apple's systems.")
        }
        handle?.startAdvertising(name: name, services: services?.map(\.bluetooth) ?? [])
    }

    /// Ends advertising.
    open func stopAdvertising() { handle?.stopAdvertising() }

    /// A hint on how quickly values shall reach a central, which decides: its link is asked to run with 7.5 to 15 ms
    /// between packets, 30 to 50 ms, or 100 to 125 ms. Needs CAP_NET_RAW.
    open func setDesiredConnectionLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) {
        guard isReady(for: "setDesiredConnectionLatency(_:for:)") else { return }
        if handle?.setLatency(latency, for: central) != true {
            misuse("setDesiredConnectionLatency(_:for:) has no effect: \(central) is not connected.")
        }
    }

    // MARK: Services

    /// Offers a service; the delegate is told when centrals can find it.
    open func add(_ service: CBMutableService) {
        guard isReady(for: "add(_:)") else { return }
        handle?.add(service)
    }

    /// Offers a service no more; one that is not offered is passed over.
    open func remove(_ service: CBMutableService) {
        handle?.removeServices { $0 === service }
    }

    /// Offers none of the services any more.
    open func removeAllServices() {
        handle?.removeServices { _ in true }
    }

    // MARK: Values

    /// Answers a request; of several that came together, the first is answered for all.
    /// - Parameters:
    ///   - request: which one. When a value is to be read, its `value` is what the central gets.
    ///   - result: `.success`, or why not.
    open func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
        // A program can make codes of any number.
        let code = UInt8(exactly: result.rawValue) ?? ATTErrorCode.unlikelyError.rawValue
        let answer: Result<[UInt8], ATTErrorCode> =
            code == 0 ? .success(Array(request.value ?? Data())) : .failure(ATTErrorCode(code))
        if !request.question.resolve(answer) { misuse("a request was answered twice, or too late.") }
    }

    /// Sends a value to subscribed centrals.
    /// - Returns: false when it was not sent, since too much waits: the delegate is told when to try again.
    open func updateValue(
        _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
    ) -> Bool {
        guard isReady(for: "updateValue(_:for:onSubscribedCentrals:)") else { return false }
        return handle?.update(Array(value), of: characteristic, for: centrals) ?? false
    }

    // MARK: Channels

    /// Offers an L2CAP service with a number of the system's choice.
    open func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
        guard isReady(for: "publishL2CAPChannel(withEncryption:)") else { return }
        handle?.publishChannel(isEncrypted: encryptionRequired)
    }

    /// Offers an L2CAP service no more.
    open func unpublishL2CAPChannel(_ PSM: CBL2CAPPSM) {
        handle?.unpublishChannel(PSM)
    }
}
