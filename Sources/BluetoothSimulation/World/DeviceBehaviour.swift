import BluetoothATT
import BluetoothDeviceFile
import BluetoothGATT
import BluetoothLoop
import Synchronization

extension SimulatedGATTServer {
    /// Does what a described device does over time: notifies values, periodically or as recorded, echoes written values, and
    /// refuses reads.
    func behave(as device: DeviceDescription, on radio: SimulatedRadio) {
        var replays: [AttributeHandle: NotificationReplay] = [:]
        var echoes: [AttributeHandle: AttributeHandle] = [:]
        var refusals: [AttributeHandle: ATTErrorCode] = [:]
        var database = AttributeDatabase.empty
        // The handles are those of this server, since its database was built from the same services.
        guard let layout = try? database.append(device.gattServices) else { return }
        let outlet = ValueOutlet(self, on: radio.loop)
        let handles = layout.services.dropFirst(device.addedServiceCount)
        for (service, handles) in zip(device.services, handles) {
            for (characteristic, own) in zip(service.characteristics, handles.characteristics) {
                let value = SentValue(handle: own.value, indicates: characteristic.indicates, outlet: outlet)
                if let interval = characteristic.interval {
                    value.countUp(from: characteristic.value.bytes ?? [], every: interval)
                }
                if !characteristic.notifications.isEmpty {
                    replays[own.value] = NotificationReplay(
                        characteristic.notifications, of: value, period: device.notificationPeriod)
                }
                if let echo = characteristic.echo,
                    let index = service.characteristics.firstIndex(where: { $0.uuid == echo })
                {
                    echoes[own.value] = handles.characteristics[index].value
                }
                refusals[own.value] = characteristic.value.error
                for (descriptor, handle) in zip(characteristic.descriptors, own.descriptors) {
                    refusals[handle] = descriptor.value.error
                }
            }
        }
        if !replays.isEmpty {
            onSubscription { [replays] handle, configuration, _ in
                if !configuration.isEmpty { replays[handle]?.start() }
            }
        }
        if !refusals.isEmpty { onRead { [refusals] handle, _ in .refuse(refusals[handle] ?? .readNotPermitted) } }
        if !echoes.isEmpty { echo(echoes, on: radio) }
    }

    /// Echoes each value written to a characteristic: notifies it as the value of another, to the client that has
    /// written it.
    ///
    /// A write is dropped while 1024 others wait, as in a device whose buffer is full.
    private func echo(_ echoes: [AttributeHandle: AttributeHandle], on radio: SimulatedRadio) {
        let (writes, continuation) = AsyncStream.makeStream(
            of: (value: [UInt8], handle: AttributeHandle, link: SimulatedLink).self,
            bufferingPolicy: .bufferingOldest(1024))
        onWrite { requests, link in
            for write in requests {
                if let handle = echoes[write.handle] { continuation.yield((write.value, handle, link)) }
            }
            return .accept
        }
        Task(executorPreference: radio.loop) {
            for await write in writes { await self.notify([(write.handle, write.value)], to: write.link) }
        }
    }
}

/// A device's server, with the values that wait to be indicated.
private final class ValueOutlet: Sendable {
    let loop: EventLoop
    let server: SimulatedGATTServer
    let indications: AsyncStream<(value: [UInt8], handle: AttributeHandle)>.Continuation

    init(_ server: SimulatedGATTServer, on loop: EventLoop) {
        self.server = server
        self.loop = loop
        let (waiting, indications) = AsyncStream.makeStream(
            of: (value: [UInt8], handle: AttributeHandle).self, bufferingPolicy: .bufferingOldest(64))
        self.indications = indications
        // One at a time, as a device does: each waits for its confirmation.
        Task(executorPreference: loop) {
            for await (value, handle) in waiting { await server.indicate(value, of: handle) }
        }
    }

    deinit { indications.finish() }
}

/// A value that a device sends to its subscribers.
private struct SentValue: Sendable {
    let handle: AttributeHandle
    let indicates: Bool
    let outlet: ValueOutlet

    /// A value without room is dropped, as by a sensor.
    func send(_ value: [UInt8]) {
        if indicates {
            outlet.indications.yield((value, handle))
        } else {
            outlet.server.notifyAtOnce(value, of: handle)
        }
    }

    var subscriberCount: Int {
        outlet.server.subscribers(of: handle, as: indicates ? .indication : .notification).count
    }

    /// Sends the value periodically to its subscribers; its last byte counts up.
    func countUp(from start: [UInt8], every interval: Duration) {
        Task(executorPreference: outlet.loop) {
            var bytes = start
            while await outlet.loop.sleep(for: interval) {
                if let last = bytes.indices.last { bytes[last] &+= 1 }
                if subscriberCount > 0 { send(bytes) }
            }
        }
    }
}

/// Recorded notifications of a value, sent at their times after the first subscription, over and over until there is no
/// subscriber.
private final class NotificationReplay: Sendable {
    private let notifications: [DescribedNotification]
    private let value: SentValue
    private let period: Duration
    /// The index of the next notification; nil while there is no subscriber.
    private let next = Mutex<Int?>(nil)
    private let timer = Mutex<LoopTimer?>(nil)

    init(_ notifications: [DescribedNotification], of value: SentValue, period: Duration) {
        self.notifications = notifications
        self.value = value
        self.period = period
    }

    /// Begins with the first notification, unless other subscribers already receive them.
    func start() {
        let others = value.subscriberCount - 1
        let begins = next.withLock { next in
            guard next == nil || others < 1 else { return false }
            next = 0
            return true
        }
        guard begins, let first = notifications.first else { return }
        let timer = timer.withLock { timer in
            let made = timer ?? value.outlet.loop.makeTimer { self.tick() }
            timer = made
            return made
        }
        timer.set(after: first.time)
    }

    private func tick() {
        guard value.subscriberCount > 0 else { return next.withLock { $0 = nil } }
        guard let index = next.withLock({ $0 }) else { return }
        value.send(notifications[index].value)
        let following = (index + 1) % notifications.count
        next.withLock { $0 = following }
        let pause = notifications[following].time - notifications[index].time + (following == 0 ? period : .zero)
        timer.withLock { $0 }?.set(after: pause)
    }
}
