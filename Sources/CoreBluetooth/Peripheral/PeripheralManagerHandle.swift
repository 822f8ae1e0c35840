import BluetoothGATT
import BluetoothSockets
import BluetoothLE
import BluetoothLoop
import Foundation
import Logging
import Synchronization

/// The part of a ``CBPeripheralManager`` that any thread may use: the state, the services, the centrals, advertising
/// and pending values.
//
// Holds more than ten variables: half of them are the state that threads share behind one lock.
final class PeripheralManagerHandle: ManagerHandle {
    /// A service being published, or published.
    struct Offer {
        let service: CBMutableService
        let definition: LocalService
        /// Nil until it is published.
        var published: PublishedServices?
        var handles: [AttributeHandle] = []
    }

    /// A central's subscription to a characteristic.
    struct Subscription {
        let characteristic: CBMutableCharacteristic
        var configuration: ClientCharacteristicConfiguration
    }

    /// A connected central.
    struct Link {
        let central: CBCentral
        let connection: Connection
        /// The requested connection latencies.
        let latencies: BoundedQueue<CBPeripheralManagerConnectionLatency>
        /// The queue of its values.
        let updates = BoundedQueue<Update>(capacity: WriteFlow.limit)
        var subscriptions: [AttributeHandle: Subscription] = [:]
        var backlog = Backlog()
        var patience = LinkPatience()
    }

    /// The number of a central's subscription changes that wait for the program.
    struct Backlog {
        /// The maximum; beyond it only the last state is reported.
        static let limit = 64
        private var count = 0
        private var hasMissed = false

        /// Adds a change to report; false when too many are queued.
        mutating func begin() -> Bool {
            guard count < Self.limit else {
                hasMissed = true
                return false
            }
            count += 1
            return true
        }

        /// Removes a reported change; returns whether others were dropped and none is queued.
        mutating func end() -> Bool {
            count -= 1
            guard count == 0, hasMissed else { return false }
            hasMissed = false
            return true
        }
    }

    /// A value queued for a subscriber.
    struct Update: Sendable {
        let number: UInt64
        let value: [UInt8]
        let handle: AttributeHandle
    }

    struct Advertising {
        var isOn = false
        /// Whether it resumes when the adapter is on again.
        var isPaused = false
        /// The number of the program's advertising request; events of an earlier one are discarded.
        var number = 0
    }

    /// The values that are being sent.
    struct Outbox {
        var flow = WriteFlow(credits: 64)
        var lastNumber: UInt64 = 0
        /// The pending values, and the links that have not sent them.
        var onTheWay: [UInt64: Set<ObjectIdentifier>] = [:]
        /// The links that have accepted nothing for too long; they are not waited for while others accept.
        var stalled: Set<ObjectIdentifier> = []
        /// Whether the program was notified that a value was not sent.
        var isWaiting = false
    }

    struct Shared {
        var advertising = Advertising()
        var offers: [Offer] = []
        var characteristics: [AttributeHandle: CBMutableCharacteristic] = [:]
        var commands = WaitingCommands()
        var links: [BluetoothAddress: Link] = [:]
        var outbox = Outbox()
        var listeners: [CBL2CAPPSM: Task<Void, Never>] = [:]
    }

    let radio: Radio
    let callbacks: CallbackQueue
    let shared = Locked(Shared())
    private let owner: WeakReference<CBPeripheralManager>
    private let advertised = Mutex<AdvertisingSet?>(nil)
    private let mark: ComponentCount.Mark

    init(_ manager: WeakReference<CBPeripheralManager>, _ radio: Radio, _ callbacks: CallbackQueue) {
        owner = manager
        self.radio = radio
        self.callbacks = callbacks
        mark = radio.components.mark()
    }

    var manager: CBPeripheralManager? { owner.object }

    /// Calls back with the manager and its delegate, if the program still retains them.
    func post(
        from source: CallbackSource? = nil,
        _ body: @escaping @Sendable (CBPeripheralManager, (any CBPeripheralManagerDelegate)?) -> Void
    ) {
        callbacks.post(from: source) { [self] in
            guard let manager else { return }
            body(manager, manager.delegate)
        }
    }

    // MARK: Life

    func begin() {
        radio.soon { [self] in $0.open(PeripheralHub(self), for: self) }
    }

    func close() {
        removeServices { _ in true }
        let listeners = shared { $0.listeners.values.map { $0 } }
        for listener in listeners { listener.cancel() }
        radio.soon { [self] in $0.close(self) }
    }

    /// Reports the adapter's state to the program.
    func radioChanged(_ state: CBManagerState) {
        post { [self] manager, _ in
            manager.shared { $0 = state }
            shared { shared in
                switch state {
                case .poweredOn:
                    // Paused advertising resumes automatically, unless the program starts anew.
                    if shared.advertising.isPaused { shared.advertising.isOn = true }
                case .poweredOff:
                    shared.advertising.isPaused = shared.advertising.isPaused || shared.advertising.isOn
                    shared.advertising.isOn = false
                default: break
                }
            }
            var silenced: [(Subscription, CBCentral)] = []
            if state.rawValue < CBManagerState.poweredOff.rawValue {
                // The program has to publish and to advertise anew.
                stopAdvertising()
                silenced = removeServices { _ in true }
            }
            manager.reportState()
            // The links of these end with the adapter.
            for (subscription, central) in silenced {
                manager.delegate?.peripheralManager(
                    manager, central: central, didUnsubscribeFrom: subscription.characteristic)
            }
        }
    }

    // MARK: Advertising

    func startAdvertising(name: String?, services: [BluetoothUUID]) {
        let number = shared { shared -> Int? in
            guard !shared.advertising.isOn || shared.advertising.isPaused else { return nil }
            shared.advertising.isPaused = false
            shared.advertising.number += 1
            return shared.advertising.number
        }
        guard let number else {
            return post { $1?.peripheralManagerDidStartAdvertising($0, error: CBError(.alreadyAdvertising)) }
        }
        radio.soon { [self] radio in
            radio.serve(self)
            radio.hub(of: self)?.advertise { [self] in await advertise(number, name, services) }
        }
    }

    func stopAdvertising() {
        shared { shared in
            shared.advertising.number += 1
            shared.advertising.isOn = false
            shared.advertising.isPaused = false
        }
        radio.soon { [self] in $0.hub(of: self)?.advertise { [self] in await takeBack() } }
    }

    /// Ends the advertising set.
    func takeBack() async {
        let set = advertised.withLock { $0.take() }
        await set?.close()
    }

    private func advertise(_ number: Int, _ name: String?, _ services: [BluetoothUUID]) async {
        guard shared({ $0.advertising.number == number }) else { return }
        await takeBack()
        var content = AdvertisementContent(localName: name, services: services)
        content.overflow = .leaveOut
        do throws(BluetoothError) {
            let adapter = try await radio.adapter(for: .init("advertise"))
            let set = try await adapter.advertise(content, options: AdvertisingOptions(whenAdapterUnavailable: .resume))
            advertised.withLock { $0 = set }
            post { [self] manager, delegate in
                let isCurrent = shared { shared -> Bool in
                    guard shared.advertising.number == number else { return false }
                    shared.advertising.isOn = true
                    return true
                }
                if isCurrent { delegate?.peripheralManagerDidStartAdvertising(manager, error: nil) }
            }
        } catch {
            coreBluetoothLog.warning("\(error)")
            post { [self] manager, delegate in
                // A set that has resumed after a pause was removed for this one.
                shared {
                    if $0.advertising.number == number {
                        ($0.advertising.isOn, $0.advertising.isPaused) = (false, false)
                    }
                }
                delegate?.peripheralManagerDidStartAdvertising(manager, error: error.coreBluetooth)
            }
        }
    }

    // MARK: Services

    func add(_ service: CBMutableService) {
        let definition: LocalService
        do {
            definition = try service.definition
        } catch {
            return post { $1?.peripheralManager($0, didAdd: service, error: error) }
        }
        let isNew = shared { shared -> Bool in
            guard !shared.offers.contains(where: { $0.service === service }) else { return false }
            shared.offers.append(Offer(service: service, definition: definition))
            return true
        }
        guard isNew else {
            return post { $1?.peripheralManager($0, didAdd: service, error: CBError(.invalidParameters)) }
        }
        let characteristics = service.characteristics?.compactMap { $0 as? CBMutableCharacteristic } ?? []
        let included = service.includedServices ?? []
        radio.soon { [self] radio in
            radio.serve(self)
            Task(executorPreference: radio.loop) { [self] in
                await publish(definition, characteristics, including: included, as: service, on: radio)
            }
        }
    }

    private func publish(
        _ definition: LocalService, _ characteristics: [CBMutableCharacteristic], including included: [CBService],
        as service: CBMutableService, on radio: isolated Radio
    ) async {
        do throws(BluetoothError) {
            let adapter = try radio.adapter(for: .init("add a service"))
            var definition = definition
            for included in included {
                let own = shared { $0.offers.first { $0.service === included && $0.published != nil }?.definition }
                definition =
                    own.map { definition.including($0) } ?? definition.including(included.uuid.bluetooth)
            }
            let published = try await adapter.publish([definition], events: receiver)
            let handles = definition.characteristics.compactMap { published[$0].handle }
            let isWanted = shared { shared -> Bool in
                guard let index = shared.offers.firstIndex(where: { $0.service === service }) else { return false }
                shared.offers[index].published = published
                shared.offers[index].handles = handles
                for (handle, characteristic) in zip(handles, characteristics) {
                    shared.characteristics[handle] = characteristic
                }
                return true
            }
            if isWanted {
                // A bonded central may have subscribed as soon as it was published.
                for link in shared({ Array($0.links.values) }) {
                    let own = link.connection.peerSubscriptionsNow.filter { handles.contains($0.characteristic) }
                    for subscription in own { receive(subscription, of: link.connection) }
                }
            } else {
                // The program has removed it meanwhile.
                await published.close()
            }
            post { $1?.peripheralManager($0, didAdd: service, error: nil) }
        } catch {
            shared { shared in shared.offers.removeAll { $0.service === service } }
            post { $1?.peripheralManager($0, didAdd: service, error: error.coreBluetooth) }
        }
    }

    /// Removes published services; returns their subscriptions that the program knows of.
    @discardableResult
    func removeServices(_ isMeant: (CBMutableService) -> Bool) -> [(Subscription, CBCentral)] {
        typealias Known = [AttributeHandle: CBMutableCharacteristic]
        let (removed, known, silenced) = shared { shared -> ([Offer], Known, [(Subscription, CBCentral)]) in
            let known = shared.characteristics
            let removed = shared.offers.filter { isMeant($0.service) }
            shared.offers.removeAll { isMeant($0.service) }
            var silenced: [(Subscription, CBCentral)] = []
            for handle in removed.flatMap(\.handles) {
                shared.characteristics[handle] = nil
                for (address, link) in shared.links {
                    guard let subscription = link.subscriptions[handle] else { continue }
                    shared.links[address]?.subscriptions[handle] = nil
                    silenced.append((subscription, link.central))
                }
            }
            return (removed, known, silenced)
        }
        // The program's objects are released outside the lock.
        withExtendedLifetime(known) {}
        let reported = silenced.filter { $0.characteristic.setSubscribed(false, $1) }
        let published = removed.compactMap(\.published)
        guard !published.isEmpty else { return reported }
        radio.soon { radio in Task(executorPreference: radio.loop) { await radio.withdraw(published) } }
        return reported
    }
}
