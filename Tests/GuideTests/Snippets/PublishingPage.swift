// The snippets of Docs/Guide/Peripheral/Publishing.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Peripheral/Publishing.md
enum PublishingPage {
    /// In one call
    static func inOneCall(_ adapter: Adapter) async throws {
        try await adapter.serve(AdvertisementContent(localName: "Battery", services: [.battery])) {
            LocalService(.battery) {
                LocalCharacteristic(.batteryLevel) { 97 }
            }
        }
    }

    /// In one call
    static func inOneCall2(_ adapter: Adapter) async throws {
        let rate = LocalCharacteristic(.heartRateMeasurement)
        try await adapter.serve(AdvertisementContent(localName: "Heart", services: [.heartRate])) {
            LocalService(.heartRate) { rate }
        } while: { published, connections in
            for try await connection in connections {
                print(connection.peer, "connected")
                for try await subscription in await connection.peerSubscriptions() where !subscription.configuration.isEmpty {
                    try await published.notify(HeartRateMeasurement(rate: 72, hasContact: true), of: .heartRateMeasurement)
                    break
                }
                break
            }
        }
    }

    /// Stored values
    static func storedValues(_ adapter: Adapter) async throws {
        let level = LocalCharacteristic(.batteryLevel, properties: [.read, .notify], value: [97], valueLengths: 1...1)
        let published = try await adapter.publish {
            LocalService(.battery) { level }
        }
        try published[level].setValue([96])
        print(published[level].value as Any)
        await published.close()
    }

    /// Handlers
    static func handlers(_ adapter: Adapter) async throws {
        let greeting = LocalCharacteristic("FFF1", properties: [.read, .write])
            .onRead { request in Array("hello \(request.peer)".utf8) }
            .onWrite { request in
                guard request.offset == 0 else { throw ATTErrorCode.invalidOffset }
                guard request.value.count <= 20 else { throw ATTErrorCode.valueNotAllowed }
                print(request.peer, "writes", request.value)
            }
        let published = try await adapter.publish {
            LocalService("FFF0") { greeting }
        }
        print("published at", published.handles)
    }

    /// Requests as a stream
    static func requestsAsAStream(_ adapter: Adapter) async throws {
        let door = LocalCharacteristic("FFF3", properties: [.read, .write])
        let published = try await adapter.publish { LocalService("FFF0") { door } }
        var isOpen = false
        for try await request in try published.requests() {
            switch request {
            case .read(let read):
                read.respond(with: [isOpen ? 1 : 0])
            case .write(let write):
                guard let value = write.requests.last?.value.first, value <= 1 else {
                    write.refuse(.valueNotAllowed)
                    continue
                }
                isOpen = value == 1
                write.respond()
            }
        }
    }

    /// Descriptors and included services
    static func descriptorsAndIncludedServices(_ adapter: Adapter) async throws {
        let battery = LocalService(.battery, isPrimary: false) {
            LocalCharacteristic(.batteryLevel, properties: .read) { 97 }
        }
        let speed = LocalService("FFF0") {
            LocalCharacteristic("FFF1", properties: .read, value: [5]) {
                LocalDescriptor.userDescription("Speed")
            }
        }
        let published = try await adapter.publish([speed.including(battery), battery])
        print("published at", published.handles)
    }

    /// Periodic values
    static func periodicValues(_ adapter: Adapter) async throws {
        let rate = LocalCharacteristic(.heartRateMeasurement)
            .notifying(every: .seconds(1), of: .heartRateMeasurement) { HeartRateMeasurement(rate: .random(in: 60...80)) }
        try await adapter.serve(AdvertisementContent(localName: "Heart", services: [.heartRate])) {
            LocalService(.heartRate) { rate }
        }
    }

    /// Sending values
    static func sendingValues(_ adapter: Adapter) async throws {
        let rate = LocalCharacteristic(.heartRateMeasurement)
        let published = try await adapter.publish { LocalService(.heartRate) { rate } }
        for try await connection in try await adapter.incomingConnections() {
            for try await subscription in await connection.peerSubscriptions()
            where subscription.characteristic == published[rate].handle {
                for delivery in try await published[rate].notify([0x06, 72]) {
                    switch delivery.result {
                    case .success: print(delivery.connection.peer, "has it")
                    case .failure(let error): print(delivery.connection.peer, "has not:", error.code)
                    }
                }
                break
            }
            break
        }
    }

    /// Permissions
    static func permissions(_ adapter: Adapter) async throws {
        let lock = LocalCharacteristic(
            "FFF2", properties: [.read, .write, .notify], value: [0], valueLengths: 1...1,
            permissions: [.read, .readEncrypted, .write, .writeBonded])
        try await adapter.publish { LocalService("FFF0") { lock } }
    }

    /// Permissions
    static func permissions2(_ adapter: Adapter) async throws {
        let log = LocalCharacteristic("FFF4", properties: .read)
            .onRead { request in
                guard request.isBonded, request.security.isAuthenticated else { return [] }
                return [1, 2, 3]
            }
        try await adapter.publish { LocalService("FFF0") { log } }
    }

    /// Authorising devices
    static func authorisingDevices(_ adapter: Adapter) async throws {
        let door = LocalCharacteristic(
            "FFF3", properties: [.read, .write], value: [0],
            permissions: [.read, .write, .writeAuthenticated, .writeAuthorized])
        let authorizing: Authorizer = { request in
            print("may", request.peer, request.access, "\(request.uuid)?")
            return .whileConnected
        }
        try await adapter.publish([LocalService("FFF0", characteristics: [door])], authorizing: authorizing)
    }
}
