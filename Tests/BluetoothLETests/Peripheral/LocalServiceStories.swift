import BluetoothLE
import Synchronization
import TestSupport
import Testing

/// Definitions of services with handlers: between two machines.
@Suite struct LocalServiceStories {
    // MARK: Handlers

    @Test func eachCharacteristicHasItsHandlers() async throws {
        let writes = Mutex<[[UInt8]]>([])
        let first = LocalCharacteristic(0xFFF1, properties: .read).onRead { _ in [1] }
        // The same UUID again: the definitions tell them apart.
        let second = LocalCharacteristic(0xFFF1, properties: [.read, .write])
            .onRead { _ in [2] }
            .onWrite { request in writes.withLock { $0.append(request.value) } }
        let service = LocalService(0xFFF0) {
            first
            second
        }
        try await PeripheralFixture.serve([service]) { _, published, connection in
            let found = try await connection.discover().services(0xFFF0).flatMap(\.characteristics)
            #expect(found.map(\.valueHandle) == [published[first].handle, published[second].handle])
            try #require(found.count == 2)
            #expect(try await connection.read(found[0]) == [1])
            #expect(try await connection.read(found[1]) == [2])
            try await connection.write([3, 4], to: found[1])
            #expect(writes.withLock { $0 } == [[3, 4]])
        }
    }

    @Test func aLongWriteArrivesAssembled() async throws {
        let long = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
        let writes = Mutex<[WriteRequest]>([])
        let note = LocalCharacteristic(0xFFF1, properties: .write)
            .onWrite { request in writes.withLock { $0.append(request) } }
        try await PeripheralFixture.serve([LocalService(0xFFF0) { note }]) { fixture, _, connection in
            try await connection.write(long, to: try await connection.found(0xFFF1, in: 0xFFF0))
            let received = writes.withLock { $0 }
            #expect(received.map(\.value) == [long])
            #expect(received.map(\.offset) == [0])
            #expect(received.map(\.target) == [note.id])
            #expect(received.map(\.peer) == [fixture.central.information.address])
        }
    }

    @Test func aHandlerRefuses() async throws {
        let limited = LocalCharacteristic(0xFFF1, properties: [.read, .write])
            .onRead { _ in throw ATTErrorCode.insufficientResources }
            .onWrite { _ in throw CancellationError() }
        try await PeripheralFixture.serve([LocalService(0xFFF0) { limited }]) { _, _, connection in
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            #expect(await failure { _ = try await connection.read(value) }?.attributeError == .insufficientResources)
            #expect(await failure { try await connection.write([1], to: value) }?.attributeError == .unlikelyError)
        }
    }

    @Test func aStoredValueWithAHandlerKeepsWhatItAccepts() async throws {
        let level = LocalCharacteristic(0xFFF1, properties: [.read, .write], value: [7], valueLengths: 1...2)
            .onWrite { request in if request.value == [9] { throw ATTErrorCode.valueNotAllowed } }
        try await PeripheralFixture.serve([LocalService(0xFFF0) { level }]) { _, published, connection in
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            #expect(try await connection.read(value) == [7])
            try await connection.write([8, 8], to: value)
            #expect(published[level].value == [8, 8])
            #expect(await failure { try await connection.write([9], to: value) }?.attributeError == .valueNotAllowed)
            #expect(try await connection.read(value) == [8, 8])
            try published[level].setValue([5])
            #expect(try await connection.read(value) == [5])
            #expect(await failure { try published[level].setValue([1, 2, 3]) }?.code == .invalidArgument)
            #expect(
                await failure { try await connection.write([1, 2, 3], to: value) }?.attributeError
                    == .invalidAttributeValueLength)
        }
    }

    /// A part changes its place in the value, as without a handler, and one beyond the end does not reach the handler.
    @Test func aHandlerAcceptsAPartOfAStoredValue() async throws {
        let offsets = Mutex<[Int]>([])
        let level = LocalCharacteristic(
            0xFFF1, properties: [.read, .write], value: [1, 2, 3, 4], extendedProperties: .reliableWrite
        ).onWrite { request in offsets.withLock { $0.append(request.offset) } }
        try await PeripheralFixture.serve([LocalService(0xFFF0) { level }]) { _, published, connection in
            let handle = try await connection.found(0xFFF1, in: 0xFFF0).valueHandle
            try await connection.writeReliably([AttributeWrite(handle, offset: 1, value: [9])])
            #expect(published[level].value == [1, 9, 3, 4])
            let late = AttributeWrite(handle, offset: 5, value: [9])
            #expect(await failure { try await connection.writeReliably([late]) }?.attributeError == .invalidOffset)
            #expect(offsets.withLock { $0 } == [1])
            #expect(published[level].value == [1, 9, 3, 4])
        }
    }

    // MARK: Definitions

    @Test func aServiceIsIncludedByReference() async throws {
        let first = LocalService(0x180F) { LocalCharacteristic(0x2A19, properties: .read, value: [1]) }
        let second = LocalService(0x180F) { LocalCharacteristic(0x2A19, properties: .read, value: [2]) }
        let owner = LocalService(0xFFF0, characteristics: []).including(second)
        try await PeripheralFixture.serve([first, second, owner]) { fixture, _, connection in
            // One published later includes one published before.
            try await fixture.peripheral.publish([LocalService(0xFFF5).including(first)])
            let database = try await connection.discover()
            let batteries = database.services(0x180F)
            #expect(database.services(0xFFF0).first?.includedServices.map(\.handles) == [batteries[1].handles])
            #expect(database.services(0xFFF5).first?.includedServices.map(\.handles) == [batteries[0].handles])
        }
    }

    @Test func wrongDefinitionsAreRefused() async throws {
        let level = LocalCharacteristic(0x2A19, properties: .read, value: [1])
        let missing = LocalService(0x180F)
        let (first, second) = (LocalService(0xFFF6), LocalService(0xFFF7))
        let circle = [first.including(second), second.including(first)]
        let wrong: [(String, [LocalService])] = [
            ("no services", []),
            ("occurs twice", [LocalService(0x180F, characteristics: [level, level])]),
            ("not published", [LocalService(0xFFF0).including(missing)]),
            ("include each other", circle),
            ("includes itself or nothing", [LocalService(0xFFF0).including(0x180F)]),
            (
                "read handler",
                [
                    LocalService(
                        0xFFF0,
                        characteristics: [LocalCharacteristic(0xFFF1, properties: .write).onRead { _ in [] }])
                ]
            ),
            (
                "write handler",
                [
                    LocalService(
                        0xFFF0, characteristics: [LocalCharacteristic(0xFFF1, properties: .read).onWrite { _ in }])
                ]
            ),
            (
                "valueLengths",
                [
                    LocalService(
                        0xFFF0,
                        characteristics: [
                            LocalCharacteristic(0xFFF1, properties: .read, value: [1, 2], valueLengths: 1...1)
                        ])
                ]
            ),
            ("generic", [LocalService(0x1800)]),
        ]
        try await PeripheralFixture.run { fixture in
            for (name, services) in wrong {
                let error = await failure { try await fixture.peripheral.publish(services) }
                #expect(error?.code == .invalidArgument, "\(name): \(error as Any)")
            }
            // A negative range and one beyond 512 bytes are refused as well, rather than trapped on.
            for lengths in [-1...1, 0...513] {
                let odd = LocalCharacteristic(0xFFF1, properties: .read, valueLengths: lengths)
                let error = await failure { try await fixture.peripheral.publish { LocalService(0xFFF0) { odd } } }
                #expect(error?.code == .invalidArgument)
            }
            let other = LocalCharacteristic(0xFFF9, properties: .notify)
            let published = try await fixture.peripheral.publish([LocalService(0xFFF0, characteristics: [level])])
            #expect(await failure { try await published[other].notify([1]) }?.code == .invalidArgument)
            #expect(published[other].handle == nil)
            #expect(published[0x2A19, in: 0xFFF0].value == [1])
            #expect(published[0x2A19, in: 0xFFF1].handle == nil)
        }
    }

    @Test func authorisationIsAskedForTheDefinition() async throws {
        let asked = Mutex<[BluetoothUUID]>([])
        let door = LocalCharacteristic(
            0xFFF1, properties: [.read, .write], permissions: [.read, .write, .writeAuthorized]
        ).onWrite { _ in }
        let authorizing: Authorizer = { request in
            asked.withLock { $0.append(request.uuid) }
            return .once
        }
        try await PeripheralFixture.serve([LocalService(0xFFF0) { door }], authorizing: authorizing) {
            _, _, connection in
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            try await connection.write([1], to: value)
            #expect(asked.withLock { $0 } == [0xFFF1])
        }
    }

    @Test func aValueOfWithdrawnServicesSendsNothing() async throws {
        let rate = LocalCharacteristic(0x2A37, properties: .notify)
        let first = LocalService(0x180D, characteristics: [rate], handle: 0x40)
        try await PeripheralFixture.serve([first]) { fixture, published, connection in
            let stale = published[rate]
            await published.close()
            // Another characteristic with the same handle, to which the device has subscribed.
            let other = LocalCharacteristic(0xFFF1, properties: .notify)
            let again = try await fixture.peripheral.publish([
                LocalService(0xFFF0, characteristics: [other], handle: 0x40)
            ])
            #expect(again[other].handle == stale.handle)
            var values = try await connection.subscribe(to: try await connection.found(0xFFF1, in: 0xFFF0))
                .makeAsyncIterator()
            let incoming = try await fixture.peripheral.incomingConnections()
            let central = try #require(incoming.connections.first)
            #expect(await failure { try await stale.notify([1], to: central) }?.code == .invalidArgument)
            try await again[other].notify([2], to: central)
            #expect(try await values.next() == [2])
        }
    }
}

extension PeripheralFixture {
    /// Publishes services, and lets a central connect that asks for what they are.
    static func serve(
        _ services: [LocalService], authorizing: Authorizer? = nil,
        _ story: @escaping @Sendable (PeripheralFixture, PublishedServices, Connection) async throws -> Void
    ) async throws {
        try await run { fixture in
            let published = try await fixture.peripheral.publish(services, authorizing: authorizing)
            let set = try await fixture.peripheral.advertise(content)
            let connection = try await fixture.connect()
            try await story(fixture, published, connection)
            await connection.disconnect()
            await set.close()
        }
    }
}

extension BluetoothError {
    /// The ATT error code that the peer answered with.
    var attributeError: ATTErrorCode? {
        if let code = cause?.attributeErrorCode { code } else { nil }
    }
}
