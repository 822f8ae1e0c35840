import BluetoothAdvertising
import BluetoothATT
import BluetoothDeviceFile
import BluetoothLE
import ExampleSupport
import Synchronization

/// A recorded device, and the error that ended the recording early.
struct RecordedDevice: Sendable {
    var device: DeviceDescription
    var failure: (any Error)?

    /// The counts for the summary.
    var characteristics: [DescribedCharacteristic] { device.services.flatMap(\.characteristics) }
    private var values: [DescribedValue] {
        characteristics.flatMap { [$0.value] + $0.descriptors.map(\.value) }
    }
    var valueCount: Int { values.count { $0.bytes != nil } }
    var refusedCount: Int { values.count { $0.error != nil } }
    var notificationCount: Int { characteristics.reduce(0) { $0 + $1.notifications.count } }

    /// The text of the file. A device may have handles that no file can describe; they are left out then.
    func file() throws -> [UInt8] {
        let whole = device.file
        do {
            _ = try DeviceFile(reading: whole)
            return whole
        } catch {
            let bytes = device.withoutHandles.file
            do throws(DeviceFile.Problem) {
                _ = try DeviceFile(reading: bytes)
            } catch {
                throw ProgramError(.protocolError, "A file cannot describe this device: \(error).")
            }
            return bytes
        }
    }
}

/// Records a connected device.
struct DeviceRecorder: Sendable {
    let connection: Connection
    /// The time limit for each response.
    let timeout: Duration
    /// The time during which notifications are recorded.
    let duration: Duration
    let console: Console

    /// Reads the database and all values, and records notifications. If the task is cancelled or the link ends during
    /// the notifications, the result is what was recorded until then.
    func record() async throws -> RecordedDevice {
        let database = try await connection.discover(timeout: timeout)
        for problem in database.problems { console.detail("problem: \(problem)") }
        var services: [DescribedService] = []
        for service in database { services.append(try await record(service)) }
        var device = DeviceDescription(address: connection.peer, services: services)
        device.recording = DescribedRecording(time: timestamp(), duration: .zero)
        guard duration > .zero else { return RecordedDevice(device: device) }
        let (notifications, failure, time) = try await notifications(of: database)
        for (index, service) in device.services.enumerated() {
            for (position, characteristic) in service.characteristics.enumerated() {
                device.services[index].characteristics[position].notifications =
                    characteristic.handle.flatMap { notifications[$0] } ?? []
            }
        }
        device.recording?.duration = time
        return RecordedDevice(device: device, failure: failure)
    }

    private func record(_ service: RemoteService) async throws -> DescribedService {
        var characteristics: [DescribedCharacteristic] = []
        for characteristic in service.characteristics {
            var descriptors: [DescribedDescriptor] = []
            let isReadable = characteristic.properties.contains(.read)
            let value = isReadable ? try await value(of: characteristic.valueHandle) : DescribedValue()
            for descriptor in characteristic.descriptors {
                descriptors.append(
                    DescribedDescriptor(
                        descriptor.uuid, handle: descriptor.handle, value: try await self.value(of: descriptor.handle)))
            }
            characteristics.append(
                DescribedCharacteristic(
                    characteristic.uuid, handle: characteristic.valueHandle, properties: characteristic.properties,
                    value: value, descriptors: descriptors))
        }
        return DescribedService(
            service.uuid, isPrimary: service.isPrimary, handle: service.handles.start, end: service.handles.end,
            includes: service.includedServices.map { DescribedInclude($0.uuid, handle: $0.handles.start) },
            characteristics: characteristics)
    }

    private func value(of handle: AttributeHandle) async throws -> DescribedValue {
        do throws(BluetoothError) {
            return DescribedValue(try await connection.read(handle, timeout: timeout))
        } catch {
            guard let code = error.cause?.attributeErrorCode else { throw error }
            return DescribedValue(error: code)
        }
    }

    private func notifications(
        of database: RemoteDatabase
    ) async throws -> ([AttributeHandle: [DescribedNotification]], failure: (any Error)?, time: Duration) {
        let recorded = NotificationLog()
        let start = ContinuousClock.now
        var failure: (any Error)?
        do {
            _ = try await upTo(duration) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for characteristic in database.flatMap(\.characteristics) {
                        guard let values = try await subscribe(to: characteristic) else { continue }
                        let handle = characteristic.valueHandle
                        group.addTask {
                            let start = ContinuousClock.now
                            for try await value in values {
                                let time = ContinuousClock.now - start
                                guard recorded.add(DescribedNotification(after: time, value), of: handle) else {
                                    return
                                }
                            }
                        }
                    }
                    console.detail("recording notifications")
                    // The link's end ends all streams, and so does a full log. Without a stream there is nothing to
                    // wait for.
                    try await group.next()
                    group.cancelAll()
                }
            }
        } catch {
            failure = error
        }
        if recorded.isFull {
            console.message("\(DeviceDescription.mostNotifications) notifications are recorded: enough.")
        }
        return (recorded.all, failure, ContinuousClock.now - start)
    }

    /// The values of a characteristic; nil if it sends none.
    private func subscribe(to characteristic: RemoteCharacteristic) async throws -> BoundedStream<[UInt8]>? {
        // The library itself receives Service Changed.
        guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]), characteristic.uuid != .serviceChanged
        else { return nil }
        do throws(BluetoothError) {
            return try await connection.subscribe(to: characteristic, timeout: timeout)
        } catch {
            guard let code = error.cause?.attributeErrorCode else { throw error }
            console.message("\(characteristic.uuid) refuses to be subscribed to: \(code)")
            return nil
        }
    }
}

/// Received notifications by value handle.
private final class NotificationLog: Sendable {
    private struct State {
        var all: [AttributeHandle: [DescribedNotification]] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    var all: [AttributeHandle: [DescribedNotification]] { state.withLock { $0.all } }
    var isFull: Bool { state.withLock { $0.count >= DeviceDescription.mostNotifications } }

    /// Records a notification; returns whether there is room for another.
    func add(_ notification: DescribedNotification, of handle: AttributeHandle) -> Bool {
        state.withLock { state in
            guard state.count < DeviceDescription.mostNotifications else { return false }
            state.all[handle, default: []].append(notification)
            state.count += 1
            return state.count < DeviceDescription.mostNotifications
        }
    }
}

extension DeviceDescription {
    fileprivate var withoutHandles: DeviceDescription {
        var result = self
        for index in services.indices {
            result.services[index].handle = nil
            result.services[index].end = nil
            for position in services[index].includes.indices { result.services[index].includes[position].handle = nil }
            for position in services[index].characteristics.indices {
                result.services[index].characteristics[position].handle = nil
                for number in services[index].characteristics[position].descriptors.indices {
                    result.services[index].characteristics[position].descriptors[number].handle = nil
                }
            }
        }
        return result
    }
}
